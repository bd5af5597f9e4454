//! Tests of the choice among transports and of reconnecting.

mod choosing;
mod healing;
