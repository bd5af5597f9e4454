//! Tests of transport selection and of reconnecting.

mod healing;
mod transport_detection;
