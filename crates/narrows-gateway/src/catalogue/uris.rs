//! The resource URIs of an endpoint that joins servers.

use std::collections::{HashMap, HashSet};

use super::ViewPart;
use narrows_upstream::Item;

/// The number of servers that publish each URI. It determines which server keeps the URI unwrapped.
/// Hidden resources count as well, so that a preset does not change any URI.
///
/// A server keeps a URI if no other server has it, or if all others have it only through more
/// gateways. Without this rule, the URIs of gateways in a ring would depend on each other and never
/// settle.
pub(super) struct PublishedUris<'a>(HashMap<&'a str, NearestServer>);

struct NearestServer {
    hops: usize,
    servers: usize,
}

impl<'a> PublishedUris<'a> {
    pub(super) fn of(parts: &'a [ViewPart]) -> PublishedUris<'a> {
        let mut all: HashMap<&str, NearestServer> = HashMap::new();
        for item in parts.iter().flat_map(|part| &part.offer.resources) {
            let new = NearestServer {
                hops: item.hops(),
                servers: 1,
            };
            match all.get_mut(&*item.key) {
                Some(known) if known.hops < new.hops => {}
                Some(known) if known.hops == new.hops => known.servers += 1,
                Some(known) => *known = new,
                None => drop(all.insert(&item.key, new)),
            }
        }
        PublishedUris(all)
    }

    /// Returns true if the item is published under a wrapped URI.
    pub(super) fn is_wrapped(&self, item: &Item) -> bool {
        let nearest = self.0.get(&*item.key);
        nearest.is_some_and(|nearest| nearest.servers > 1 || item.hops() > nearest.hops)
    }

    /// Returns the URIs that no server keeps.
    pub(super) fn shared(&self) -> HashSet<Box<str>> {
        let shared = self.0.iter().filter(|(_, nearest)| nearest.servers > 1);
        shared.map(|(uri, _)| (*uri).into()).collect()
    }
}
