//! The kinds of items that servers offer and clients name.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    Tool,
    Prompt,
    Resource,
    Server,
    Method,
}

impl ItemKind {
    /// All kinds in declaration order.
    pub const ALL: [ItemKind; 5] = [
        ItemKind::Tool,
        ItemKind::Prompt,
        ItemKind::Resource,
        ItemKind::Server,
        ItemKind::Method,
    ];

    /// Returns the kind as a capitalised word, to start a sentence.
    pub fn title(self) -> &'static str {
        match self {
            ItemKind::Tool => "Tool",
            ItemKind::Prompt => "Prompt",
            ItemKind::Resource => "Resource",
            ItemKind::Server => "Server",
            ItemKind::Method => "Method",
        }
    }
}

impl std::fmt::Display for ItemKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ItemKind::Tool => "tool",
            ItemKind::Prompt => "prompt",
            ItemKind::Resource => "resource",
            ItemKind::Server => "server",
            ItemKind::Method => "method",
        })
    }
}
