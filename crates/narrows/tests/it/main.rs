//! Tests of the real program, run as users run it.

mod broken;
mod clients;
mod commands;
mod configuration;
mod draining;
mod endings;
mod events;
mod exposure;
mod fidelity;
mod filters;
mod gateway;
mod hard_cases;
mod healing;
mod help;
mod operator;
mod presets;
mod program;
mod pruner;
mod recursion;
mod reload;
mod secrets;
mod serving;
mod shaping;
mod transports;
