/// A supported language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    French,
    German,
    Spanish,
    Chinese,
}

impl Language {
    /// Parses an ISO 639-1 code.
    pub(super) fn parse(text: &str) -> Option<Language> {
        match text {
            "en" => Some(Language::English),
            "fr" => Some(Language::French),
            "de" => Some(Language::German),
            "es" => Some(Language::Spanish),
            "zh" => Some(Language::Chinese),
            _ => None,
        }
    }
}
