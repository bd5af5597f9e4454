//! Matching of URIs against templates.
//!
//! The expressions of RFC 6570 are not evaluated: a URI matches a template if it contains the
//! literal parts in order, from start to end. This is enough to find the server of a URI, which is
//! all that a gateway needs.

/// The literal parts of a URI template.
#[derive(Debug)]
pub struct Template {
    literals: Vec<String>,
    /// True if an expression such as `{/x}`, `{#x}` or `{?x}` may expand to nothing or to several
    /// segments.
    loose: bool,
}

impl Template {
    pub fn parse(template: &str) -> Option<Template> {
        let mut literals = Vec::new();
        let mut loose = false;
        let mut rest = template;
        while let Some((literal, behind)) = rest.split_once('{') {
            let (expression, behind) = behind.split_once('}')?;
            loose |= expression.starts_with(['+', '#', '.', '/', ';', '?', '&'])
                || expression.ends_with('*');
            literals.push(literal.to_owned());
            rest = behind;
        }
        literals.push(rest.to_owned());
        // A template without literals matches every URI and is useless.
        literals
            .iter()
            .any(|literal| !literal.is_empty())
            .then_some(Template { literals, loose })
    }

    pub fn matches(&self, uri: &str) -> bool {
        let [first, middle @ .., last] = &self.literals[..] else {
            // The template has no expressions and is a plain URI.
            return self.literals.first().is_some_and(|literal| literal == uri);
        };
        let Some(mut rest) = uri
            .strip_prefix(first.as_str())
            .and_then(|rest| rest.strip_suffix(last.as_str()))
        else {
            return false;
        };
        for literal in middle {
            match rest.split_once(literal.as_str()) {
                Some((value, behind)) if self.value(value) => rest = behind,
                _ => return false,
            }
        }
        self.value(rest)
    }

    /// Returns true if an expression can have this value. A plain expression expands to one
    /// non-empty segment.
    fn value(&self, value: &str) -> bool {
        self.loose || (!value.is_empty() && !value.contains('/'))
    }
}
