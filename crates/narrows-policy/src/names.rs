//! Published names: combine a server and one of its tools into a name that model providers accept,
//! and split such a name again.

use std::borrow::Cow;
use std::collections::HashMap;

/// The default separator between server and tool. Names made with it match `^[A-Za-z0-9_-]+$`.
pub const SAFE_SEPARATOR: &str = "__";

/// All separators that calls may use, on every endpoint. `::` precedes `:`, so that the longer one
/// is tried first.
const UNDERSTOOD: [&str; 3] = ["::", SAFE_SEPARATOR, ":"];

/// Returns the form of each server id in published names. A slug has only safe characters, no `__`
/// inside and no `_` at the end, so that the first `__` of a published name always ends the server.
/// A hash is appended to ids that would share a slug.
pub fn slugs(ids: &[&str]) -> Vec<String> {
    let plain: Vec<String> = ids.iter().map(|id| slug(id)).collect();
    let mut count: HashMap<&str, usize> = HashMap::new();
    for slug in &plain {
        *count.entry(slug).or_default() += 1;
    }
    let unique = |(id, slug): (&&str, &String)| match count[slug.as_str()] {
        1 => slug.clone(),
        // An id that equals its slug needs no hash.
        _ if slug == id => slug.clone(),
        _ => format!("{slug}_{}", hash(&[id])),
    };
    ids.iter().zip(&plain).map(unique).collect()
}

fn slug(id: &str) -> String {
    let mut slug = String::with_capacity(id.len());
    for c in id.chars() {
        let c = if safe(c) { c } else { '_' };
        if c != '_' || !slug.ends_with('_') {
            slug.push(c);
        }
    }
    slug.truncate(32);
    let slug = slug.trim_end_matches('_');
    if slug.is_empty() {
        "server".into()
    } else {
        slug.into()
    }
}

/// Returns the published names of one server's items on one endpoint, in the same order.
pub fn publish(slug: &str, names: &[&str], separator: &str, max: usize) -> Vec<String> {
    if separator != SAFE_SEPARATOR {
        return names
            .iter()
            .map(|name| format!("{slug}{separator}{name}"))
            .collect();
    }
    let plain: Vec<String> = names
        .iter()
        .map(|name| format!("{slug}{separator}{}", sanitised(name)))
        .collect();
    let mut count: HashMap<&str, usize> = HashMap::new();
    for name in &plain {
        *count.entry(name).or_default() += 1;
    }
    let fit = |(name, plain): (&&str, &String)| {
        let lossless = name.chars().all(safe);
        if plain.len() <= max && (lossless || count[plain.as_str()] == 1) {
            return plain.clone();
        }
        let hash = hash(&[slug, name]);
        let keep = max.saturating_sub(hash.len() + 1).min(plain.len());
        // `plain` is ASCII, so it can be cut at any byte.
        format!("{}_{hash}", &plain[..keep])
    };
    names.iter().zip(&plain).map(fit).collect()
}

/// Returns all ways to split `name` into server and item, for names that are not published.
/// Separators are not parsed in any other module.
pub fn readings(name: &str) -> impl Iterator<Item = (&str, &str)> {
    UNDERSTOOD.iter().flat_map(move |separator| {
        name.match_indices(separator)
            .map(move |(at, _)| (&name[..at], &name[at + separator.len()..]))
            .filter(|(server, item)| !server.is_empty() && !item.is_empty())
    })
}

/// Returns the names most similar to `wanted`, for suggestions in errors.
pub fn nearest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wanted = comparable(wanted);
    best(known.map(|name| (likeness(&wanted, name), name)))
}

/// Returns the published names most similar to `wanted`. `wanted` may also be the server's own name
/// of an item, alone or after the name of another server.
pub fn nearest_published<'a>(
    wanted: &str,
    known: impl Iterator<Item = (&'a str, Cow<'a, str>)>,
) -> Vec<String> {
    let whole = comparable(wanted);
    let behind = wanted.rfind([':', '.', '/']).map_or(0, |at| at + 1);
    let behind = wanted
        .find(SAFE_SEPARATOR)
        .map_or(behind, |at| behind.max(at + SAFE_SEPARATOR.len()));
    let own = comparable(&wanted[behind..]);
    best(known.map(|(published, item)| {
        let by_own = OWN_NAME_WEIGHT * likeness(&own, &item);
        (likeness(&whole, published).max(by_own), published)
    }))
}

/// Returns the names, sorted by similarity to `wanted`.
pub fn by_likeness<'a>(wanted: &str, names: Vec<&'a str>) -> Vec<&'a str> {
    let wanted = comparable(wanted);
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (likeness(&wanted, name), name))
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().map(|(_, name)| name).collect()
}

/// The weight of a match with the item's own name. It is slightly below 1, so that an item of the
/// named server precedes an item of the same name on another server.
const OWN_NAME_WEIGHT: f64 = 0.99;

/// Returns the best few names. The order is deterministic and does not depend on the input order.
fn best<'a>(scored: impl Iterator<Item = (f64, &'a str)>) -> Vec<String> {
    let mut scored: Vec<(f64, &str)> = scored
        .take(2_000)
        .filter(|(score, name)| *score > 0.7 && name.len() <= 200)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored
        .into_iter()
        .take(3)
        .map(|(_, name)| name.to_owned())
        .collect()
}

/// Cuts a name for comparison: the cost of the similarity is the product of both lengths, and peers
/// choose both names.
fn comparable(name: &str) -> String {
    name.chars().take(100).collect()
}

fn likeness(wanted: &str, name: &str) -> f64 {
    match name.len() {
        ..=200 => strsim::jaro_winkler(wanted, name),
        _ => 0.0,
    }
}

fn safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn sanitised(name: &str) -> String {
    name.chars()
        .map(|c| if safe(c) { c } else { '_' })
        .collect()
}

/// FNV-1a, 32 bits in hexadecimal. The hash must never change between versions, which the standard
/// library does not guarantee for its hasher.
fn hash(parts: &[&str]) -> String {
    let mut hash: u32 = 0x811c_9dc5;
    for byte in parts.iter().flat_map(|part| part.bytes().chain([0])) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    format!("{hash:08x}")
}

#[cfg(test)]
mod tests;
