//! Tests of transport selection, of eras and of reconnecting.

mod eras;
mod healing;
mod transport_detection;
