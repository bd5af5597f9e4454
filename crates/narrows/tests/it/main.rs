//! The real program, run as its users run it.

mod commands;
mod configuration;
mod help;
mod program;
mod secrets;
mod serving;
