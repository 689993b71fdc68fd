//! Fields that tool files, prompt files and resource files have in common: types of content, pictures, proposals.

use super::checks::Checks;
use super::fault::JsonLocation;
use super::field::Field;
use super::limits;
use super::raw::{List, RawComplete, RawIcon};
use super::spec::{CompleteSpec, IconSpec};

/// A MIME type.
pub(super) fn mime_type(
    given: &Field<String>,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> Option<String> {
    let text = checks.text(given, place)?;
    let is_kind = |it: &str| !it.is_empty() && it.chars().all(|it| it.is_ascii_lowercase());
    let is_form = |it: &str| {
        let letters = |letter: char| letter.is_ascii_alphanumeric() || "+.-".contains(letter);
        !it.is_empty() && it.chars().all(letters)
    };
    let is_right = text
        .split_once('/')
        .is_some_and(|(kind, form)| is_kind(kind) && is_form(form));
    if !is_right {
        let message = format!("`{text}` is not a MIME type");
        checks
            .faults
            .add_with_hint(place, message, "write one such as `image/png`");
    }
    is_right.then_some(text)
}

/// Pictures of something.
pub(super) fn icons(
    given: &List<RawIcon>,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> Vec<IconSpec> {
    checks.not_empty(given, place);
    let all = given.elements();
    if checks.too_many(all.len(), limits::ICONS, "icons", place) {
        return Vec::new();
    }
    let icons = all.iter().enumerate();
    icons
        .filter_map(|(index, it)| icon(it.value()?, &place.index(index), checks))
        .collect()
}

fn icon(raw: &RawIcon, place: &JsonLocation<'_>, checks: Checks<'_>) -> Option<IconSpec> {
    checks.required(&raw.src, place, "src");
    let at = place.key("src");
    let src = checks.text(&raw.src, &at)?;
    if !src.starts_with("https:") && !src.starts_with("data:") {
        let hint = "use an `https:` URL, or a `data:` URI with the picture itself";
        let message = "clients load pictures from `https:` and `data:` only";
        checks.faults.add_with_hint(&at, message, hint);
        return None;
    }
    let at = place.key("sizes");
    checks.not_empty(&raw.sizes, &at);
    let sizes = checks.strings(&raw.sizes, &at);
    for (index, size) in sizes.iter().enumerate().filter(|(_, it)| !is_size(it)) {
        let message = format!("`{size}` is not the size of a picture");
        let hint = "write one such as `48x48`, or `any` for a picture that can be scaled";
        checks.faults.add_with_hint(&at.index(index), message, hint);
    }
    Some(IconSpec {
        src,
        mime_type: mime_type(&raw.mime_type, &place.key("mime_type"), checks),
        sizes,
    })
}

fn is_size(text: &str) -> bool {
    let is_number = |it: &str| !it.is_empty() && it.chars().all(|it| it.is_ascii_digit());
    let both = text.split_once('x');
    text == "any" || both.is_some_and(|(width, height)| is_number(width) && is_number(height))
}

/// What can be proposed for a value.
pub(super) fn complete(
    given: &Field<RawComplete>,
    place: &JsonLocation<'_>,
    checks: Checks<'_>,
) -> Option<CompleteSpec> {
    let raw = given.value()?;
    let (at, behind) = (place.key("values"), place.key("command"));
    checks.not_empty(&raw.values, &at);
    if checks.too_many(
        raw.values.elements().len(),
        limits::ALLOWED_VALUES,
        "values",
        &at,
    ) {
        return None;
    }
    match (raw.values.is_present(), raw.command.is_present()) {
        (true, true) => {
            let hint = "remove one of the two".to_owned();
            checks
                .faults
                .add_to_key(&behind, "there are `values` already", hint);
            None
        }
        (false, false) => {
            let hint = "write `\"values\": […]`, or `\"command\"` and `\"args\"` of a program that prints one a line";
            let message = "nothing says what can be proposed";
            checks.faults.add_with_hint(place, message, hint);
            None
        }
        (true, false) => {
            if raw.args.is_present() {
                checks.misplaced("args", "`command`", place);
            }
            Some(CompleteSpec::Values(checks.strings(&raw.values, &at)))
        }
        (false, true) => {
            let mut words = vec![checks.text(&raw.command, &behind)?];
            words.extend(checks.strings(&raw.args, &place.key("args")));
            Some(CompleteSpec::Command(words))
        }
    }
}
