//! A field of the raw form that remembers whether it was absent, faulty, or given.
//!
//! Plain serde stops at the first error. A [`Field`] field keeps a faulty value from completion the
//! struct around it: the decoder has reported the fault, the field becomes [`Field::Invalid`], and
//! the rest of the file is still files. Only [`decode`](super::decode) may feed these types: any
//! other deserializer's errors would be lost.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Visitor};

/// The newtype name under which the decoder reports an error before a [`Field`] swallows it.
pub(super) const FIELD: &str = "ahma::Field";

/// A member of an object, or an element of an array, as the author wrote it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Field<T> {
    /// Not there.
    #[default]
    Missing,
    /// There, but wrong; the fault has been reported.
    Invalid,
    /// There.
    Value(T),
}

impl<T> Field<T> {
    /// The value, if there is a usable one.
    pub(crate) fn value(&self) -> Option<&T> {
        match self {
            Field::Value(value) => Some(value),
            Field::Missing | Field::Invalid => None,
        }
    }

    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Field::Missing)
    }

    pub(crate) fn is_present(&self) -> bool {
        !self.is_absent()
    }
}

impl<T: Copy> Field<T> {
    pub(crate) fn copied(&self) -> Option<T> {
        self.value().copied()
    }
}

impl<T> Field<Vec<T>> {
    /// The elements; none when the array is absent.
    pub(crate) fn elements(&self) -> &[T] {
        self.value().map(Vec::as_slice).unwrap_or_default()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // `deserialize_option` is what serde's derived code answers for a missing field.
        deserializer.deserialize_option(OptionalVisitor(PhantomData))
    }
}

struct OptionalVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OptionalVisitor<T> {
    type Value = Field<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(Field::Missing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        Ok(
            match deserializer.deserialize_newtype_struct(FIELD, ReportedVisitor(PhantomData)) {
                Ok(value) => Field::Value(value),
                Err(_reported) => Field::Invalid,
            },
        )
    }
}

struct ReportedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ReportedVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::deserialize(deserializer)
    }
}

impl<T: JsonSchema> JsonSchema for Field<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
