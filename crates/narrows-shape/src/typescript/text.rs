//! A type as text that can still be combined: the members of a union with their comments, and the
//! necessary parentheses.

use std::collections::{HashMap, HashSet};

/// The maximum number of members of an intersection of unions, which is the product of the members
/// of its factors. The compiler gives up at a hundred thousand; readers do much earlier.
const MAX_PRODUCT: usize = 1_000;

/// A union of one or more members; most types have one.
#[derive(Debug, Clone)]
pub(super) struct Type {
    members: Vec<UnionMember>,
    /// The comment for the whole type, without delimiters.
    comment: String,
}

#[derive(Debug, Clone)]
struct UnionMember {
    text: String,
    is_intersection: bool,
    comment: String,
}

impl Type {
    pub(super) fn of(text: impl Into<String>) -> Self {
        Self {
            members: vec![UnionMember {
                text: text.into(),
                is_intersection: false,
                comment: String::new(),
            }],
            comment: String::new(),
        }
    }

    pub(super) fn unknown() -> Self {
        Self::of("unknown")
    }

    pub(super) fn never() -> Self {
        Self::of("never")
    }

    /// Joins members with ` | ` and removes duplicates. Two members that differ only in their
    /// comments become one with both comments.
    pub(super) fn union(types: impl IntoIterator<Item = Type>) -> Self {
        let mut members: Vec<UnionMember> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for member in types.into_iter().flat_map(Type::into_members) {
            match places.get(&member.text) {
                Some(&place) => append_comment(&mut members[place].comment, &member.comment),
                None => {
                    places.insert(member.text.clone(), members.len());
                    members.push(member);
                }
            }
        }
        if members.is_empty() {
            return Self::never();
        }
        Self {
            members,
            comment: String::new(),
        }
    }

    /// Returns the intersection of `types`, ignoring `unknown`.
    pub(super) fn intersection(mut types: Vec<Type>) -> Self {
        if types.len() == 1
            && let Some(only) = types.pop()
        {
            return only;
        }
        let mut informative: Vec<Type> = types.into_iter().filter(|t| !t.is_unknown()).collect();
        // Omitting a factor makes the type wider, but not wrong.
        let mut product = 1_usize;
        informative.retain(|factor| {
            let larger = product.saturating_mul(factor.members.len());
            let fits = larger <= MAX_PRODUCT || product == 1;
            product = if fits { larger } else { product };
            fits
        });
        if informative.len() <= 1 {
            return informative.pop().unwrap_or_else(Self::unknown);
        }
        let mut texts: Vec<String> = informative.into_iter().map(Type::into_factor).collect();
        let mut seen = HashSet::new();
        texts.retain(|text| seen.insert(text.clone()));
        let mut whole = Self::of(texts.join(" & "));
        whole.members[0].is_intersection = texts.len() > 1;
        whole
    }

    pub(super) fn array(element: Type) -> Self {
        Self::of(element.into_factor() + "[]")
    }

    /// Returns the type as an optional element of a tuple.
    pub(super) fn optional_element(self) -> String {
        self.into_factor() + "?"
    }

    pub(super) fn or_null(self) -> Self {
        if self.is_unknown() {
            return self;
        }
        let comment = self.comment.clone();
        let bare = Self {
            comment: String::new(),
            ..self
        };
        Self::union([bare, Self::of("null")]).with_comment(comment)
    }

    /// Replaces the comment unless `comment` is empty.
    pub(super) fn with_comment(mut self, comment: String) -> Self {
        if !comment.is_empty() {
            self.comment = comment;
        }
        self
    }

    /// Returns `true` if the type is `unknown`, ignoring comments.
    pub(super) fn is_unknown(&self) -> bool {
        self.members.iter().any(|member| member.text == "unknown")
    }

    /// Returns `true` if the type allows every object.
    pub(super) fn is_any_object(&self) -> bool {
        self.members.iter().any(|member| member.text == "{}")
    }

    /// Returns the approximate length of the text.
    pub(super) fn len(&self) -> usize {
        let members = self.members.iter();
        members
            .map(|m| m.text.len() + m.comment.len() + 3)
            .sum::<usize>()
            + self.comment.len()
    }

    pub(super) fn into_text(self) -> String {
        let mut text = String::with_capacity(self.len() + 8);
        for (n, member) in self.members.iter().enumerate() {
            if n > 0 {
                text.push_str(" | ");
            }
            text.push_str(&member.text);
            push_comment(&mut text, &member.comment);
        }
        push_comment(&mut text, &self.comment);
        text
    }

    /// Returns the text for use before `[]` and `?` and next to `&`. Unions and intersections get
    /// parentheses, so that comments stay with their types.
    fn into_factor(self) -> String {
        let is_single = self.members.len() == 1 && !self.members[0].is_intersection;
        let text = self.into_text();
        if is_single { text } else { format!("({text})") }
    }

    /// Returns the members of a union. A union with a comment stays together as one member.
    fn into_members(mut self) -> Vec<UnionMember> {
        if self.comment.is_empty() {
            return self.members;
        }
        let comment = std::mem::take(&mut self.comment);
        if let [member] = self.members.as_mut_slice() {
            let inner = std::mem::replace(&mut member.comment, comment);
            append_comment(&mut member.comment, &inner);
            return self.members;
        }
        vec![UnionMember {
            text: self.into_factor(),
            is_intersection: false,
            comment,
        }]
    }
}

fn append_comment(to: &mut String, comment: &str) {
    if comment.is_empty() || to == comment {
        return;
    }
    if !to.is_empty() {
        to.push_str("; ");
    }
    to.push_str(comment);
}

fn push_comment(text: &mut String, comment: &str) {
    if !comment.is_empty() {
        text.push_str(" /* ");
        text.push_str(comment);
        text.push_str(" */");
    }
}
