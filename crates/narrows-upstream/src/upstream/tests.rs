//! Tests of transport selection and of reconnecting.

mod choosing;
mod eras;
mod healing;
