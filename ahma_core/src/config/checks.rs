//! Checks that fields of all files share. Reports what is wrong; must not know what a field is for.

use std::ops::RangeInclusive;
use std::path::{Component, Path};

use super::fault::{Faults, JsonLocation};
use super::field::Field;
use super::raw::{List, bounds};

/// Reports to the faults of the file at hand.
#[derive(Clone, Copy)]
pub(super) struct Checks<'f> {
    pub(super) faults: &'f Faults,
}

impl<'f> Checks<'f> {
    pub(super) fn new(faults: &'f Faults) -> Self {
        Checks { faults }
    }

    /// The value of a field that must be there. A faulty one has been reported already.
    pub(super) fn required<'g, T>(
        &self,
        given: &'g Field<T>,
        place: &JsonLocation<'_>,
        field: &str,
    ) -> Option<&'g T> {
        if given.is_absent() && !self.faults.is_misspelt(place, field) {
            self.faults.add_with_hint(
                place,
                format!("the field `{field}` is missing"),
                format!("add `\"{field}\": …` to this object"),
            );
        }
        given.value()
    }

    /// A text that must say something and can be handed to the operating system.
    pub(super) fn text(&self, given: &Field<String>, place: &JsonLocation<'_>) -> Option<String> {
        let text = given.value()?;
        if text.trim().is_empty() {
            self.faults.add_with_hint(
                place,
                "the text is empty",
                "write something, or leave the field out where it is optional",
            );
            return None;
        }
        self.no_nul(text, place).then(|| text.clone())
    }

    /// NUL ends a string for the operating system, so no argument or name can hold it.
    pub(super) fn no_nul(&self, text: &str, place: &JsonLocation<'_>) -> bool {
        let clean = !text.contains('\0');
        if !clean {
            self.faults.add_with_hint(
                place,
                "the text holds a NUL character (\\u0000)",
                "remove it; no program can be given one",
            );
        }
        clean
    }

    /// A number within its bounds.
    pub(super) fn in_range(
        &self,
        given: &Field<i64>,
        range: RangeInclusive<u32>,
        place: &JsonLocation<'_>,
    ) -> Option<u32> {
        let number = given.copied()?;
        let within = u32::try_from(number)
            .ok()
            .filter(|number| range.contains(number));
        if within.is_none() {
            self.faults.add_with_hint(
                place,
                format!("{number} is out of range"),
                format!(
                    "use a whole number from {} to {}",
                    range.start(),
                    range.end()
                ),
            );
        }
        within
    }

    /// Every exit code of a list, faulty ones left out.
    pub(super) fn exit_codes(&self, list: &List<i64>, place: &JsonLocation<'_>) -> Vec<u8> {
        self.not_empty(list, place);
        let mut codes = Vec::new();
        for (index, given) in list.elements().iter().enumerate() {
            let code = self.in_range(given, bounds::EXIT_CODE, &place.index(index));
            codes.extend(code.and_then(|code| u8::try_from(code).ok()));
        }
        codes
    }

    /// Every element of a list of strings, faulty ones left out.
    pub(super) fn strings(&self, list: &List<String>, place: &JsonLocation<'_>) -> Vec<String> {
        let mut strings = Vec::with_capacity(list.elements().len());
        for (index, given) in list.elements().iter().enumerate() {
            if let Field::Value(text) = given
                && self.no_nul(text, &place.index(index))
            {
                strings.push(text.clone());
            }
        }
        strings
    }

    /// A list that must have an element once it is there.
    pub(super) fn not_empty<T>(&self, list: &List<T>, place: &JsonLocation<'_>) {
        if list.value().is_some_and(Vec::is_empty) {
            self.faults.add_with_hint(
                place,
                "the list is empty",
                "give it at least one element, or leave the field out",
            );
        }
    }

    /// A path that stays below the directory it is resolved against. Only for early, helpful
    /// messages; the kernel is what holds a command back.
    /// The paths of a list that must not be empty.
    pub(super) fn paths_below(&self, list: &List<String>, place: &JsonLocation<'_>) -> Vec<String> {
        self.not_empty(list, place);
        let mut paths = Vec::new();
        for (index, given) in list.elements().iter().enumerate() {
            if let Field::Value(path) = given
                && self.path_below(path, &place.index(index))
            {
                paths.push(path.clone());
            }
        }
        paths
    }

    pub(super) fn path_below(&self, text: &str, place: &JsonLocation<'_>) -> bool {
        let stays_below = !text.trim().is_empty()
            && Path::new(text)
                .components()
                .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !stays_below {
            self.faults.add_with_hint(
                place,
                format!("`{text}` is not a path below the scope"),
                "use a relative path without `..`, e.g. `Cargo.toml`",
            );
        }
        stays_below && self.no_nul(text, place)
    }

    /// A field that means nothing where it stands.
    pub(super) fn misplaced(&self, field: &str, where_it_belongs: &str, place: &JsonLocation<'_>) {
        self.faults.add_to_key(
            &place.key(field),
            format!("`{field}` has no meaning here"),
            format!("`{field}` is for {where_it_belongs}"),
        );
    }

    /// Reports that there is more of something than a file may hold.
    pub(super) fn too_many(
        &self,
        count: usize,
        most: usize,
        what: &str,
        place: &JsonLocation<'_>,
    ) -> bool {
        let too_many = count > most;
        if too_many {
            self.faults.add_with_hint(
                place,
                format!("there are {count} {what}; at most {most} are allowed"),
                "split it up, or leave out what nobody needs",
            );
        }
        too_many
    }
}
