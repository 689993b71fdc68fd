//! A serde deserializer over the spanned JSON tree that reports every fault instead of the first.
//!
//! Unknown fields are reported and skipped; a value of the wrong type is reported where it stands.
//! Together with [`Field`](super::field::Field) one pass over the tree finds all faults of form.
//! Faults of meaning belong to [`resolve`](super::resolve).

mod access;

use std::fmt;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use serde::de::{self, Deserialize, Deserializer, Visitor};

use self::access::{Elements, Members, VariantName};
use super::fault::{Faults, JsonLocation};
use super::field::FIELD;
use super::suggest::nearest;

/// The newtype name of a type that is either a string or a struct: it is handed the string, or the
/// whole deserializer when the value is an object.
pub(super) const TEXT_OR_OBJECT: &str = "ahma::TextOrObject";

/// Decodes the tree into `T`. `None` when the root itself is unusable; faults are in `faults`.
pub(super) fn decode<'de, T: Deserialize<'de>>(
    root: &'de Value<'de>,
    faults: &Faults,
) -> Option<T> {
    decode_at(root, &JsonLocation::ROOT, faults)
}

/// Decodes one value of a tree that is walked by hand.
pub(super) fn decode_at<'de, T: Deserialize<'de>>(
    value: &'de Value<'de>,
    place: &JsonLocation<'_>,
    faults: &Faults,
) -> Option<T> {
    let node = Node {
        value,
        place,
        faults,
    };
    let result = T::deserialize(node);
    node.report(result).ok()
}

/// Why decoding of one value stopped.
#[derive(Debug)]
pub(super) enum DecodeError {
    /// The fault is in the list already.
    Reported,
    /// A visitor's complaint that still needs a place.
    Unplaced(String),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Reported => formatter.write_str("reported"),
            DecodeError::Unplaced(message) => formatter.write_str(message),
        }
    }
}

impl std::error::Error for DecodeError {}

impl de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        DecodeError::Unplaced(message.to_string())
    }
}

/// One value of the tree, with the way back to the root.
#[derive(Clone, Copy)]
struct Node<'de, 'p> {
    value: &'de Value<'de>,
    place: &'p JsonLocation<'p>,
    faults: &'p Faults,
}

impl<'de> Node<'de, '_> {
    fn report<T>(&self, result: Result<T, DecodeError>) -> Result<T, DecodeError> {
        result.map_err(|error| {
            if let DecodeError::Unplaced(message) = error {
                self.faults.add(self.place, message);
            }
            DecodeError::Reported
        })
    }

    /// Reports that something else was expected here.
    fn mismatch<T>(&self, expected: Expected) -> Result<T, DecodeError> {
        let (name, advice) = expected.words();
        let found = match (self.faults.hides_values(), expected, self.value) {
            (false, ..) => described(self.value),
            (true, Expected::WholeNumber, Value::NumberLit(_)) => "one with a fraction".to_owned(),
            (true, ..) => kind_of(self.value).to_owned(),
        };
        let message = format!("expected {name}, found {found}");
        let hint = if matches!(self.value, Value::NullKeyword(_)) {
            "`null` is not a value here; write one, or leave the field out where it is optional"
        } else {
            advice
        };
        self.faults.add_with_hint(self.place, message, hint);
        Err(DecodeError::Reported)
    }

    fn too_large<T>(&self, number: &str) -> Result<T, DecodeError> {
        let message = match self.faults.hides_values() {
            true => "the number is out of range".to_owned(),
            false => format!("the number {number} is out of range"),
        };
        self.faults
            .add_with_hint(self.place, message, "use a number of ordinary size");
        Err(DecodeError::Reported)
    }

    fn whole_number(&self) -> Result<i128, DecodeError> {
        let Value::NumberLit(number) = self.value else {
            return self.mismatch(Expected::WholeNumber);
        };
        if let Ok(whole) = number.value.parse::<i128>() {
            return Ok(whole);
        }
        // JSON knows one kind of number: 2.0 and 2e0 are the whole number 2.
        match number.value.parse::<f64>() {
            Ok(float) if float.fract() == 0.0 && float.abs() < 1e15 =>
            {
                #[expect(clippy::cast_possible_truncation, reason = "whole and below 1e15")]
                Ok(float as i128)
            }
            Ok(float) if float.fract() == 0.0 || !float.is_finite() => self.too_large(number.value),
            _ => self.mismatch(Expected::WholeNumber),
        }
    }

    fn number<V: Visitor<'de>>(&self, visitor: V, text: &str) -> Result<V::Value, DecodeError> {
        if let Ok(whole) = text.parse::<u64>() {
            return self.report(visitor.visit_u64(whole));
        }
        if let Ok(whole) = text.parse::<i64>() {
            return self.report(visitor.visit_i64(whole));
        }
        match text.parse::<f64>() {
            Ok(float) if float.is_finite() => self.report(visitor.visit_f64(float)),
            _ => self.too_large(text),
        }
    }

    fn object(&self) -> Result<&'de Object<'de>, DecodeError> {
        match self.value {
            Value::Object(object) => Ok(object),
            _ => self.mismatch(Expected::Object),
        }
    }
}

/// What a value should have been.
#[derive(Clone, Copy)]
enum Expected {
    Text,
    Boolean,
    WholeNumber,
    Number,
    Array,
    Object,
    TextOrObject,
}

impl Expected {
    /// Its name, and how it is written.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Expected::Text => ("a string", "write it in double quotes"),
            Expected::Boolean => ("`true` or `false`", "write it without quotes"),
            Expected::WholeNumber => (
                "a whole number",
                "write it without quotes and without a fraction",
            ),
            Expected::Number => ("a number", "write it without quotes"),
            Expected::Array => ("an array", "put the elements into brackets: [ … ]"),
            Expected::Object => ("an object", "write an object with named fields: { … }"),
            Expected::TextOrObject => (
                "a string or an object",
                "write a command line in double quotes, or { \"command\": …, \"args\": [ … ] }",
            ),
        }
    }
}

/// Says what a value is, in the words of the format.
fn described(value: &Value<'_>) -> String {
    match value {
        Value::StringLit(text) if text.value.chars().count() <= 40 => {
            format!("the string {:?}", text.value)
        }
        Value::NumberLit(number) => format!("the number {}", number.value),
        Value::BooleanLit(boolean) => format!("`{}`", boolean.value),
        other => kind_of(other).to_owned(),
    }
}

/// The same without the value itself.
fn kind_of(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "a string",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "`true` or `false`",
        Value::Object(_) => "an object",
        Value::Array(_) => "an array",
        Value::NullKeyword(_) => "`null`",
    }
}

macro_rules! whole_numbers {
    ($($method:ident $visit:ident $type:ty;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            let whole = self.whole_number()?;
            match <$type>::try_from(whole) {
                Ok(whole) => self.report(visitor.$visit(whole)),
                Err(_) => self.too_large(&whole.to_string()),
            }
        }
    )*};
}

/// Fields of tools and subcommands that are kept free.
const LATER_FIELDS: [&str; 5] = ["changes", "exclusive", "join", "tty", "uses"];

fn is_tool_or_subcommand(fields: &[&str]) -> bool {
    fields.contains(&"subcommand") && fields.contains(&"positional_args")
}

impl<'de> Deserializer<'de> for Node<'de, '_> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Value::StringLit(text) => self.report(visitor.visit_str(&text.value)),
            Value::NumberLit(number) => self.number(visitor, number.value),
            Value::BooleanLit(boolean) => self.report(visitor.visit_bool(boolean.value)),
            Value::NullKeyword(_) => self.report(visitor.visit_unit()),
            Value::Array(_) => self.deserialize_seq(visitor),
            Value::Object(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Value::BooleanLit(boolean) => self.report(visitor.visit_bool(boolean.value)),
            _ => self.mismatch(Expected::Boolean),
        }
    }

    whole_numbers! {
        deserialize_i8 visit_i8 i8;
        deserialize_i16 visit_i16 i16;
        deserialize_i32 visit_i32 i32;
        deserialize_i64 visit_i64 i64;
        deserialize_u8 visit_u8 u8;
        deserialize_u16 visit_u16 u16;
        deserialize_u32 visit_u32 u32;
        deserialize_u64 visit_u64 u64;
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Value::NumberLit(number) => self.number(visitor, number.value),
            _ => self.mismatch(Expected::Number),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Value::StringLit(text) => self.report(visitor.visit_str(&text.value)),
            _ => self.mismatch(Expected::Text),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let result = visitor.visit_some(self);
        self.report(result)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let result = match (name, self.value) {
            (TEXT_OR_OBJECT, Value::StringLit(text)) => visitor.visit_str(&text.value),
            (FIELD, _) | (TEXT_OR_OBJECT, Value::Object(_)) => visitor.visit_newtype_struct(self),
            (TEXT_OR_OBJECT, _) => return self.mismatch(Expected::TextOrObject),
            _ => visitor.visit_newtype_struct(self),
        };
        self.report(result)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let Value::Array(array) = self.value else {
            return self.mismatch(Expected::Array);
        };
        self.report(visitor.visit_seq(Elements::new(self, &array.elements)))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let properties: Vec<&ObjectProp<'_>> = self.object()?.properties.iter().collect();
        self.report(visitor.visit_map(Members::new(self, &properties)))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let object = self.object()?;
        let mut known: Vec<&ObjectProp<'_>> = Vec::with_capacity(object.properties.len());
        for property in &object.properties {
            let key = property.name.as_str();
            if !fields.contains(&key) {
                if is_tool_or_subcommand(fields) && LATER_FIELDS.contains(&key) {
                    self.faults.add_to_key(
                        &self.place.key(key),
                        format!("the field `{key}` is not known yet"),
                        "remove it; a later version gives it a meaning".to_owned(),
                    );
                    continue;
                }
                let hint = match nearest(key, fields.iter().copied()) {
                    Some(field) => {
                        self.faults.note_misspelt(self.place, field);
                        format!("did you mean `{field}`?")
                    }
                    None => format!("known fields: {}", fields.join(", ")),
                };
                self.faults.add_to_key(
                    &self.place.key(key),
                    format!("unknown field `{key}`"),
                    hint,
                );
            } else if let Some(earlier) = known.iter_mut().find(|it| it.name.as_str() == key) {
                // A repeated key has been reported at its last place; so that one counts.
                *earlier = property;
            } else {
                known.push(property);
            }
        }
        self.report(visitor.visit_map(Members::new(self, &known)))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let Value::StringLit(text) = self.value else {
            return self.mismatch(Expected::Text);
        };
        if !variants.contains(&text.value.as_ref()) {
            let allowed = format!("allowed: {}", variants.join(", "));
            let hint = match nearest(&text.value, variants.iter().copied()) {
                Some(variant) => format!("did you mean `{variant}`? {allowed}"),
                None => allowed,
            };
            let message = format!("`{}` is not a value of this field", text.value);
            self.faults.add_with_hint(self.place, message, hint);
            return Err(DecodeError::Reported);
        }
        self.report(visitor.visit_enum(VariantName(&text.value)))
    }

    serde::forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any
    }
}
