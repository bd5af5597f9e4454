//! Clients that are gateways themselves. They receive the marks of the gateways behind each item,
//! so that calls do not loop.

use std::sync::Arc;

use narrows_upstream::chain::via::{THROUGH_PROXY, VIA, extended, is_looped, of, with};
use narrows_upstream::exchange::Notice;
use narrows_wire::{ClientHello, Kind, Raw};

use crate::error::Error;

/// A client that is a gateway itself.
#[derive(Debug, Clone)]
pub(crate) struct GatewayClient {
    /// The mark of this gateway.
    mark: Arc<str>,
    /// The marks of the gateways in front of the client.
    via: Option<Arc<str>>,
}

impl GatewayClient {
    /// Recognises a gateway by its client name.
    pub(crate) fn of(client: &ClientHello, mark: &str) -> Option<GatewayClient> {
        let name = client.client_info.member("name")?;
        name.as_text()
            .filter(|name| name.ends_with(THROUGH_PROXY))?;
        let via = client.client_info.member(VIA);
        let via = via.as_ref().and_then(Raw::as_text);
        Some(GatewayClient {
            mark: mark.into(),
            via: via.map(|via| Arc::from(&*via)),
        })
    }

    pub(crate) fn mark(&self) -> &str {
        &self.mark
    }

    /// Returns true if the client's session was opened on behalf of a session of this gateway,
    /// directly or through others.
    pub(crate) fn originates_here(&self) -> bool {
        let via = self.via.as_ref();
        via.is_some_and(|via| is_looped(via, &self.mark))
    }

    /// Returns a client info with all marks up to this gateway.
    pub(crate) fn mark_info(&self, client_info: &Raw) -> Raw {
        let via = extended(self.via.as_deref(), &self.mark);
        client_info.with_member(VIA, &Raw::string(&via))
    }

    /// Returns the params to forward, with this gateway's mark added.
    pub(crate) fn mark_params(&self, params: Option<Raw>) -> Result<Option<Raw>, Error> {
        let params = params.unwrap_or_else(Raw::empty_object);
        if params.kind() != Kind::Object {
            return Err(Error::BadParams("params must be an object".into()));
        }
        let via = of(&params);
        if via.as_ref().is_some_and(|via| is_looped(via, &self.mark)) {
            return Err(Error::OwnServer);
        }
        Ok(Some(with(&params, &extended(via.as_deref(), &self.mark))))
    }

    /// Returns a notification for the client, with this gateway's mark added. Progress belongs to a
    /// request and cannot loop, so it is not marked.
    pub(crate) fn mark_notice(&self, notice: Notice) -> Notice {
        if &*notice.method == "notifications/progress" {
            return notice;
        }
        let params = notice.params.unwrap_or_else(Raw::empty_object);
        let via = extended(of(&params).as_deref(), &self.mark);
        Notice {
            params: Some(with(&params, &via)),
            ..notice
        }
    }
}

#[cfg(test)]
mod tests;
