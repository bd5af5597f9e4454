//! Checks `shape` at all four levels, and its `mask`, which applies to the plain JSON-RPC route.

use std::collections::HashMap;
use std::time::Duration;

use narrows_gateway::settings::{Binary, ShapeChoice};
use narrows_shape::Mask;

use super::LONGEST;
use crate::config::problem::{At, Problems};
use crate::config::raw::{BinaryWord, RawPrune, RawServer, RawShape, RawTools, Shape};
use crate::config::read::{Field, Given, Table};

/// The level of a `shape`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShapeLevel {
    /// At the top level or in a server.
    TopOrServer,
    /// In an endpoint or a tool, which do not exist on the plain JSON-RPC route.
    EndpointOrTool,
}

/// Returns the settings of one `shape` for results on endpoints.
pub(super) fn choice(
    given: &Field<Shape>,
    standing: ShapeLevel,
    problems: &mut Problems<'_>,
) -> ShapeChoice {
    let raw = match given.value() {
        None => return ShapeChoice::default(),
        Some(Shape::Off) => {
            return ShapeChoice {
                on: Some(false),
                ..ShapeChoice::default()
            };
        }
        Some(Shape::On(raw)) => raw,
    };
    if let (ShapeLevel::EndpointOrTool, Some(at)) = (standing, raw.mask.at()) {
        let what = "`mask` has no effect here: it applies to the plain JSON-RPC route, \
                    which has neither endpoints nor tools";
        problems.warn(at, what, "set it at the top level or in a server");
    }
    let max_chars = raw.max_chars.given();
    let max_chars = max_chars.and_then(|given| budget(given, problems));
    ShapeChoice {
        on: is_on(raw),
        max_chars,
        code_max_chars: raw
            .code_max_chars
            .given()
            .and_then(|given| budget(given, problems)),
        binary: raw.binary.value().map(|word| match word {
            BinaryWord::Keep => Binary::Keep,
            BinaryWord::Note => Binary::Note,
        }),
        goal_param: raw.goal_param.value().copied(),
        guard: raw.guard.value().copied(),
        timeout: raw.prune.value().and_then(|raw| prune(raw, problems)),
    }
}

/// Returns the settings for the tools of a server, by the server's own tool names.
pub(super) fn of_tools(
    server: &RawServer,
    problems: &mut Problems<'_>,
) -> HashMap<String, ShapeChoice> {
    let Some(RawTools::Settings(tools)) = server.tools.value() else {
        return HashMap::new();
    };
    let tools = tools.0.iter();
    let declared = tools.filter(|(_, tool)| !tool.value.shape.is_absent());
    declared
        .map(|(name, tool)| {
            let choice = choice(&tool.value.shape, ShapeLevel::EndpointOrTool, problems);
            (name.value.clone(), choice)
        })
        .collect()
}

/// A mask as configured.
#[derive(Debug, Clone, Copy)]
pub(super) struct MaskLimits {
    max_chars: i64,
    head_chars: usize,
    tail_chars: usize,
}

impl Default for MaskLimits {
    fn default() -> MaskLimits {
        match Mask::default() {
            Mask::Beyond {
                max_chars,
                head_chars,
                tail_chars,
            } => MaskLimits {
                max_chars: i64::try_from(max_chars.get()).unwrap_or(i64::MAX),
                head_chars,
                tail_chars,
            },
            Mask::Off => MaskLimits {
                max_chars: 0,
                head_chars: 0,
                tail_chars: 0,
            },
        }
    }
}

impl MaskLimits {
    /// Returns these limits, overridden by those of a `shape`.
    pub(super) fn with(self, given: &Field<Shape>, problems: &mut Problems<'_>) -> MaskLimits {
        let Some(Shape::On(shape)) = given.value() else {
            return self;
        };
        let Some(Given { value: raw, at }) = shape.mask.given() else {
            return self;
        };
        let limits = MaskLimits {
            max_chars: raw.max_chars.value().copied().unwrap_or(self.max_chars),
            head_chars: raw.head_chars.value().copied().unwrap_or(self.head_chars),
            tail_chars: raw.tail_chars.value().copied().unwrap_or(self.tail_chars),
        };
        limits.warn_of_overlap(at, problems);
        limits
    }

    pub(super) fn mask(self) -> Mask {
        Mask::new(self.max_chars, self.head_chars, self.tail_chars)
    }

    fn warn_of_overlap(self, at: &At, problems: &mut Problems<'_>) {
        let most = usize::try_from(self.max_chars).unwrap_or(0);
        let kept = self.head_chars.saturating_add(self.tail_chars);
        if most > 0 && kept > most {
            let what = format!(
                "masking may make strings longer: of more than {most} characters, \
                 {kept} are kept"
            );
            let help = format!("set `head_chars` and `tail_chars` to at most {most} in total");
            problems.warn(at, what, help);
        }
    }
}

/// Returns true if the keys set a budget or how to meet it. A `mask` alone does not apply to
/// endpoints.
fn is_on(raw: &RawShape) -> Option<bool> {
    if raw.max_chars.value().is_some_and(|most| *most <= 0) {
        return Some(false);
    }
    let keys = raw.given();
    let only_mask = !keys.is_empty() && keys.iter().all(|(key, _)| *key == "mask");
    (!only_mask).then_some(true)
}

/// Returns the budget, or `None` for no budget.
fn budget(given: &Given<i64>, problems: &mut Problems<'_>) -> Option<usize> {
    if given.value <= 0 {
        return None;
    }
    let budget = usize::try_from(given.value).unwrap_or(usize::MAX);
    let least = ShapeChoice::MIN_CHARS;
    if budget < least {
        let what = format!(
            "a budget must be at least {least} characters to leave room between the markers"
        );
        problems.error(&given.at, what, "0 disables it");
    }
    Some(budget)
}

/// Returns the time limit. The other keys apply only to `prune_text`, but are checked as well.
fn prune(raw: &RawPrune, problems: &mut Problems<'_>) -> Option<Duration> {
    if let Some(ratio) = raw.max_prune_ratio.given() {
        match (0.0..=1.0).contains(&ratio.value) {
            true => without_effect("max_prune_ratio", &ratio.at, problems),
            false => problems.error(&ratio.at, "`max_prune_ratio` must be from 0 to 1", ""),
        }
    }
    if let Some(at) = raw.min_keep_lines.at() {
        without_effect("min_keep_lines", at, problems);
    }
    let given = raw.timeout_ms.given()?;
    let time = Duration::from_millis(given.value as u64);
    if time.is_zero() || time.as_secs_f64() > LONGEST {
        let what = "a time in milliseconds must be more than 0 and less than a year";
        problems.error(&given.at, what, "");
        return None;
    }
    Some(time)
}

fn without_effect(key: &str, at: &At, problems: &mut Problems<'_>) {
    let what = format!("`{key}` has no effect");
    let help = "every call of `prune_text` sets it, and results on endpoints are pruned \
                to the budget";
    problems.warn(at, what, help);
}
