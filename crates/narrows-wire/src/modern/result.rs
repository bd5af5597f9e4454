//! The members of results that earlier revisions lack.

use bytes::{BufMut, BytesMut};

use crate::modern::SERVER_INFO;
use crate::{Kind, Raw};

/// The type of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultType {
    Complete,
    InputRequired,
    /// A type that an extension defines.
    Other(String),
}

impl ResultType {
    pub fn as_str(&self) -> &str {
        match self {
            ResultType::Complete => "complete",
            ResultType::InputRequired => "input_required",
            ResultType::Other(other) => other,
        }
    }

    fn parse(text: &str) -> ResultType {
        match text {
            "complete" => ResultType::Complete,
            "input_required" => ResultType::InputRequired,
            other => ResultType::Other(other.to_owned()),
        }
    }
}

/// The clients that may share a cached result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CacheScope {
    Private,
    Public,
}

impl CacheScope {
    pub fn as_str(self) -> &'static str {
        match self {
            CacheScope::Private => "private",
            CacheScope::Public => "public",
        }
    }
}

/// The time for which a result may be cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheHint {
    pub ttl_ms: u64,
    pub scope: CacheScope,
}

impl CacheHint {
    /// The hint for results of servers that give none.
    pub const NONE: CacheHint = CacheHint {
        ttl_ms: 0,
        scope: CacheScope::Private,
    };

    /// Returns the hint for a result that has two parts.
    #[must_use]
    pub fn and(self, other: CacheHint) -> CacheHint {
        CacheHint {
            ttl_ms: self.ttl_ms.min(other.ttl_ms),
            scope: self.scope.min(other.scope),
        }
    }
}

/// The members of a result that only this revision has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultFields {
    pub result_type: ResultType,
    pub cache: Option<CacheHint>,
    pub server_info: Option<Raw>,
}

impl ResultFields {
    /// Reads the members of a result. Members of a wrong type count as absent, and a result without
    /// a type is complete.
    pub fn read(result: &Raw) -> ResultFields {
        let [result_type, ttl, scope, meta] = [
            result.member("resultType"),
            result.member("ttlMs"),
            result.member("cacheScope"),
            result.member("_meta"),
        ];
        let result_type = result_type.as_ref().and_then(Raw::as_text);
        let scope = match scope.as_ref().and_then(Raw::as_text).as_deref() {
            Some("public") => CacheScope::Public,
            _ => CacheScope::Private,
        };
        ResultFields {
            result_type: result_type.map_or(ResultType::Complete, |word| ResultType::parse(&word)),
            cache: ttl
                .and_then(|ttl| ttl.as_u64())
                .map(|ttl_ms| CacheHint { ttl_ms, scope }),
            server_info: meta.and_then(|meta| meta.member(SERVER_INFO)),
        }
    }

    /// Returns the result with these members in place of its own. Everything else stays as it is.
    pub fn add_to(&self, result: &Raw) -> Raw {
        if result.kind() != Kind::Object {
            return result.clone();
        }
        let names = ["resultType", "ttlMs", "cacheScope", "_meta"];
        // With a name twice, the members are replaced one by one.
        let Ok([result_type, ttl, scope, meta]) = result.pick(names) else {
            return self.replace_each(result);
        };
        let mut edit = result.edit();
        let mut set = |old: &Option<Raw>, name: &str, value: Raw| {
            let edited = std::mem::replace(&mut edit, result.edit());
            edit = match old {
                Some(old) => edited.replace(old, value),
                None => edited.insert(result, name, value),
            };
        };
        set(
            &result_type,
            names[0],
            Raw::string(self.result_type.as_str()),
        );
        if let Some(CacheHint { ttl_ms, scope: own }) = self.cache {
            set(&ttl, names[1], Raw::number(ttl_ms));
            set(&scope, names[2], Raw::string(own.as_str()));
        }
        if let Some(info) = &self.server_info {
            set(&meta, names[3], with_info(meta.as_ref(), info));
        }
        edit.finish()
    }

    fn replace_each(&self, result: &Raw) -> Raw {
        let mut result = result.with_member("resultType", &Raw::string(self.result_type.as_str()));
        if let Some(CacheHint { ttl_ms, scope }) = self.cache {
            result = result
                .with_member("ttlMs", &Raw::number(ttl_ms))
                .with_member("cacheScope", &Raw::string(scope.as_str()));
        }
        if let Some(info) = &self.server_info {
            let meta = with_info(result.member("_meta").as_ref(), info);
            result = result.with_member("_meta", &meta);
        }
        result
    }

    /// Returns the result without the members that only this revision has.
    pub fn remove_from(result: &Raw) -> Raw {
        let names = ["resultType", "ttlMs", "cacheScope", "_meta"];
        let is_old = |meta: &Option<Raw>| {
            let info = meta.as_ref().and_then(|meta| meta.member(SERVER_INFO));
            info.is_none()
        };
        if let Ok([None, None, None, meta]) = result.pick(names)
            && is_old(&meta)
        {
            return result.clone();
        }
        let mut rest = BytesMut::with_capacity(result.len());
        rest.put_u8(b'{');
        for (key, mut value) in result.members() {
            match &*key {
                "resultType" | "ttlMs" | "cacheScope" => continue,
                "_meta" if value.member(SERVER_INFO).is_some() => {
                    value = value.without_member(SERVER_INFO);
                    if value.members().next().is_none() {
                        continue;
                    }
                }
                _ => {}
            }
            if rest.len() > 1 {
                rest.put_u8(b',');
            }
            rest.put_slice(Raw::string(&key).as_bytes());
            rest.put_u8(b':');
            rest.put_slice(value.as_bytes());
        }
        rest.put_u8(b'}');
        Raw::from_checked(rest.freeze())
    }
}

fn with_info(meta: Option<&Raw>, info: &Raw) -> Raw {
    match meta {
        Some(meta) if meta.kind() == Kind::Object => meta.with_member(SERVER_INFO, info),
        _ => Raw::empty_object().with_member(SERVER_INFO, info),
    }
}
