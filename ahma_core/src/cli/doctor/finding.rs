//! What a check has found. Plain data.

use serde::Serialize;

/// How it stands with something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// As it should be.
    Ok,
    /// Worth knowing; nothing has to be done.
    Note,
    /// Something to repair.
    Fix,
}

/// What a check has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What it is about, such as `sandbox`.
    pub(super) area: &'static str,
    pub(super) state: State,
    /// What was found.
    pub(super) message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fix: Option<String>,
}

impl Finding {
    pub(super) fn ok(area: &'static str, message: impl Into<String>) -> Self {
        Finding {
            area,
            state: State::Ok,
            message: message.into(),
            fix: None,
        }
    }

    pub(super) fn note(
        area: &'static str,
        message: impl Into<String>,
        fix: impl Into<Option<String>>,
    ) -> Self {
        Finding {
            area,
            state: State::Note,
            message: message.into(),
            fix: fix.into(),
        }
    }

    pub(super) fn fix(
        area: &'static str,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Finding {
            area,
            state: State::Fix,
            message: message.into(),
            fix: Some(fix.into()),
        }
    }

    /// What an error says, whose hints are what to do.
    pub(super) fn of_error(area: &'static str, error: &dyn std::error::Error) -> Self {
        let text = error.to_string();
        let (message, hints): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| !line.starts_with("hint: "));
        let hints = hints.iter().map(|line| line.trim_start_matches("hint: "));
        let hints: Vec<&str> = hints.collect();
        Finding {
            area,
            state: State::Fix,
            message: message.join("; "),
            fix: (!hints.is_empty()).then(|| hints.join("; ")),
        }
    }
}
