//! Counts and publishes the events of the connection to one server.

use std::sync::Arc;
use std::time::Duration;

use narrows_upstream::{Fault, State, ToolChange, UpstreamObserver};

use crate::event_bus::{EventBus, GatewayEvent};
use crate::meter::{Meter, ServerMeter};

pub(crate) struct ServerObserver {
    id: Arc<str>,
    meter: Arc<ServerMeter>,
    event_bus: Arc<EventBus>,
}

impl ServerObserver {
    pub(crate) fn new(id: &str, meter: &Meter, event_bus: &Arc<EventBus>) -> ServerObserver {
        ServerObserver {
            id: id.into(),
            meter: meter.server(id),
            event_bus: event_bus.clone(),
        }
    }
}

impl UpstreamObserver for ServerObserver {
    fn call_ended(&self, method: &str, fault: Option<Fault>, took: Duration) {
        self.meter.call_ended(method, fault, took);
    }

    fn state_changed(&self, state: &State) {
        self.meter.state_changed(state);
        self.event_bus.emit(|| GatewayEvent::ServerState {
            server: self.id.to_string(),
            state: state.as_str(),
            reason: match state {
                State::Down { failure, .. } => Some(failure.detail.clone()),
                _ => None,
            },
        });
    }

    fn health_check_failed(&self) {
        self.meter.health_check_failed();
    }

    fn tool_changed(&self, change: Option<ToolChange>) {
        self.meter.tool_changed();
        let Some(change) = change else { return };
        self.event_bus.emit(|| GatewayEvent::ToolChanged {
            server: self.id.to_string(),
            tool: change.tool,
            changed: change.members,
            old: change.old,
            new: change.new,
        });
    }
}
