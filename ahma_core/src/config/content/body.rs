//! Texts with places for values, and files of the project: what prompt files and resource files are made of.

use super::super::checks::Checks;
use super::super::fault::JsonLocation;
use super::super::field::Field;
use super::super::suggest::nearest;
use super::spec::BodySpec;
use super::template::Template;

/// Reads texts in which values of these names are filled in.
#[derive(Clone, Copy)]
pub(super) struct Texts<'t> {
    pub(super) names: &'t [String],
    pub(super) checks: Checks<'t>,
}

impl Texts<'_> {
    /// A text.
    pub(super) fn text(&self, given: &Field<String>, place: &JsonLocation<'_>) -> Option<Template> {
        let text = self.checks.text(given, place)?;
        Some(self.template(&text, place))
    }

    /// The path of a file of the project.
    pub(super) fn file(&self, given: &Field<String>, place: &JsonLocation<'_>) -> Option<Template> {
        let path = given.value()?;
        if !self.checks.path_below(path, place) {
            return None;
        }
        Some(self.template(path, place))
    }

    /// One of `file` and `text`.
    pub(super) fn body(
        &self,
        file: &Field<String>,
        text: &Field<String>,
        place: &JsonLocation<'_>,
    ) -> Option<BodySpec> {
        match (file.is_present(), text.is_present()) {
            (true, false) => self.file(file, &place.key("file")).map(BodySpec::File),
            (false, true) => self.text(text, &place.key("text")).map(BodySpec::Text),
            (true, true) => {
                let hint = "remove one of the two".to_owned();
                let faults = self.checks.faults;
                faults.add_to_key(&place.key("text"), "there is a `file` already", hint);
                None
            }
            (false, false) => {
                let hint = "add `\"file\": …`, the path of a file of the project, or `\"text\": …`";
                let faults = self.checks.faults;
                faults.add_with_hint(place, "there is neither a `file` nor a `text`", hint);
                None
            }
        }
    }

    fn template(&self, text: &str, place: &JsonLocation<'_>) -> Template {
        let (template, odd) = Template::parse(text, |it| self.names.iter().any(|name| name == it));
        // Text may hold braces of its own; what looks like a slip of the pen is worth a look.
        for name in odd {
            let known = self.names.iter().map(String::as_str);
            if let Some(meant) = nearest(&name, known) {
                let message = format!("there is no `{name}` to fill in");
                let hint = format!("did you mean `{{{meant}}}`?");
                self.checks.faults.warn(place, message, hint);
            }
        }
        template
    }
}
