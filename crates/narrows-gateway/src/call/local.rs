//! Requests that the gateway answers without calling a server.

use narrows_wire::Raw;

use super::ViewSource;
use crate::caller::Caller;
use crate::error::Error;
use narrows_upstream::ListKind;

/// Returns the response to a request that needs no server: a page of a list, or a `ping`. Returns
/// `None` for all other methods.
pub(crate) fn local_answer(
    caller: &Caller,
    views: &dyn ViewSource,
    method: &str,
    params: Option<&Raw>,
) -> Option<Result<Raw, Error>> {
    if method == "ping" {
        return Some(Ok(Raw::empty_object()));
    }
    let kind = ListKind::of_method(method)?;
    let view = views.view();
    let listing = view.listing(kind);
    Some(match &caller.gateway {
        Some(gateway) => listing.passed_on(gateway.mark()).page(params),
        None => listing.page(params),
    })
}

/// Returns the number of bytes of a list that still have to be rendered for this client.
pub(crate) fn unrendered(caller: &Caller, views: &dyn ViewSource, kind: ListKind) -> usize {
    match caller.gateway {
        Some(_) => views.view().listing(kind).unrendered(),
        None => 0,
    }
}
