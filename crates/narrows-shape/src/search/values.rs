//! Recognises values by their form: `B2:F40` refers to cells and `PROJ-12` to a ticket, even if no
//! word mentions them.

/// Returns the English words that a value stands for. `chunk` is the value without the punctuation
/// around it, and `mark` is the character before it.
pub(super) fn meaning(chunk: &str, mark: Option<char>) -> &'static [&'static str] {
    match mark {
        Some('#') if is_number(chunk) => return &["issue"],
        Some('#') if chunk.starts_with(char::is_alphabetic) => return &["channel"],
        Some('@') if chunk.starts_with(char::is_alphabetic) => return &["user"],
        Some('/' | '~') if chunk.contains('/') => return &["path"],
        Some('$' | '€' | '£') if chunk.starts_with(|letter: char| letter.is_ascii_digit()) => {
            return &["amount"];
        }
        _ => {}
    }
    match () {
        () if is_cells(chunk) => &["cell"],
        () if is_ticket(chunk) => &["issue"],
        () if is_hash(chunk) => &["commit"],
        () if is_paper(chunk) => &["paper"],
        () if is_network_address(chunk) => &["ip"],
        () if is_time(chunk) => &["time"],
        () if is_date(chunk) => &["date"],
        () if is_variable(chunk) => &["variable"],
        () if is_key(chunk) => &["key"],
        () if is_repository(chunk) => &["repository"],
        () => &[],
    }
}

fn is_number(chunk: &str) -> bool {
    !chunk.is_empty() && chunk.bytes().all(|byte| byte.is_ascii_digit())
}

/// Recognises `D17` and `A1:F1`. Single cells in the columns Q, H, S and V are excluded, because
/// they are often a quarter, a half-year, a product or a version.
fn is_cells(chunk: &str) -> bool {
    let is_cell = |text: &str| {
        let digits = text.trim_start_matches(|letter: char| letter.is_ascii_uppercase());
        (1..=3).contains(&(text.len() - digits.len())) && digits.len() <= 6 && is_number(digits)
    };
    match chunk.split_once(':') {
        Some((from, to)) => is_cell(from) && is_cell(to),
        None => is_cell(chunk) && !chunk.starts_with(['Q', 'S', 'H', 'V']),
    }
}

/// Recognises `PROJ-12`.
fn is_ticket(chunk: &str) -> bool {
    chunk.split_once('-').is_some_and(|(project, number)| {
        (2..=10).contains(&project.len())
            && project.bytes().all(|byte| byte.is_ascii_uppercase())
            && is_number(number)
    })
}

/// Recognises commit hashes such as `a1b2c3d`, of up to forty digits.
fn is_hash(chunk: &str) -> bool {
    (7..=40).contains(&chunk.len())
        && chunk
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && chunk.bytes().any(|byte| byte.is_ascii_digit())
        && chunk.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Recognises preprint numbers such as `1706.03762`.
fn is_paper(chunk: &str) -> bool {
    chunk.split_once('.').is_some_and(|(month, number)| {
        month.len() == 4 && is_number(month) && (4..=5).contains(&number.len()) && is_number(number)
    })
}

fn is_network_address(chunk: &str) -> bool {
    let mut parts = 0;
    let are_bytes = chunk.split('.').all(|part| {
        parts += 1;
        part.parse::<u8>().is_ok()
    });
    are_bytes && parts == 4
}

/// Recognises `14:30` and `3pm`.
fn is_time(chunk: &str) -> bool {
    let lower = chunk.to_ascii_lowercase();
    let hour = lower
        .strip_suffix("am")
        .or_else(|| lower.strip_suffix("pm"));
    match chunk.split_once(':') {
        Some((hour, minute)) => {
            hour.len() <= 2 && is_number(hour) && minute.len() == 2 && is_number(minute)
        }
        None => hour.is_some_and(|hour| hour.len() <= 2 && is_number(hour)),
    }
}

/// Recognises `2024-05-01`.
fn is_date(chunk: &str) -> bool {
    let mut parts = chunk.split('-');
    let mut next = |length| {
        parts
            .next()
            .is_some_and(|part| part.len() == length && is_number(part))
    };
    next(4) && next(2) && next(2)
}

/// Recognises `DATABASE_URL`.
fn is_variable(chunk: &str) -> bool {
    chunk.contains('_')
        && chunk
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Recognises `user:12`.
fn is_key(chunk: &str) -> bool {
    chunk.split_once(':').is_some_and(|(kind, of)| {
        kind.starts_with(|letter: char| letter.is_ascii_lowercase())
            && of.starts_with(char::is_alphanumeric)
    })
}

/// Recognises `owner/name`. Short words separated by a slash are alternatives: `and/or`.
fn is_repository(chunk: &str) -> bool {
    chunk.split_once('/').is_some_and(|(owner, name)| {
        let is_name = |text: &str| {
            text.len() >= 3
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        is_name(owner) && is_name(name)
    })
}

#[cfg(test)]
mod tests;
