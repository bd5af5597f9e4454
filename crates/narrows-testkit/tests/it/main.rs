//! The test kit is tested by itself: its clients against its server.

mod over_http;
mod over_stdio;
