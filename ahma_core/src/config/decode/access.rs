//! What serde asks for inside arrays, objects and enumerations.

use jsonc_parser::ast::{ObjectProp, Value};
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::{DecodeError, Node};

/// The elements of an array.
pub(super) struct Elements<'de, 'p> {
    node: Node<'de, 'p>,
    elements: std::iter::Enumerate<std::slice::Iter<'de, Value<'de>>>,
}

impl<'de, 'p> Elements<'de, 'p> {
    pub(super) fn new(array: Node<'de, 'p>, elements: &'de [Value<'de>]) -> Self {
        Elements {
            node: array,
            elements: elements.iter().enumerate(),
        }
    }
}

impl<'de> SeqAccess<'de> for Elements<'de, '_> {
    type Error = DecodeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DecodeError> {
        let Some((index, value)) = self.elements.next() else {
            return Ok(None);
        };
        let element = Node {
            value,
            place: &self.node.place.index(index),
            faults: self.node.faults,
        };
        let result = seed.deserialize(element);
        element.report(result).map(Some)
    }
}

/// The members of an object.
pub(super) struct Members<'de, 'm> {
    node: Node<'de, 'm>,
    properties: std::slice::Iter<'m, &'de ObjectProp<'de>>,
    value: Option<&'de ObjectProp<'de>>,
}

impl<'de, 'm> Members<'de, 'm> {
    pub(super) fn new(object: Node<'de, 'm>, properties: &'m [&'de ObjectProp<'de>]) -> Self {
        Members {
            node: object,
            properties: properties.iter(),
            value: None,
        }
    }
}

impl<'de> MapAccess<'de> for Members<'de, '_> {
    type Error = DecodeError;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DecodeError> {
        let Some(property) = self.properties.next() else {
            return Ok(None);
        };
        self.value = Some(property);
        let key: StrDeserializer<'_, DecodeError> = property.name.as_str().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, DecodeError> {
        let Some(property) = self.value.take() else {
            return Err(DecodeError::Unplaced("a value without a key".to_owned()));
        };
        let member = Node {
            value: &property.value,
            place: &self.node.place.key(property.name.as_str()),
            faults: self.node.faults,
        };
        let result = seed.deserialize(member);
        member.report(result)
    }
}

/// A string that names a variant without content.
pub(super) struct VariantName<'t>(pub(super) &'t str);

impl<'de> EnumAccess<'de> for VariantName<'_> {
    type Error = DecodeError;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self), DecodeError> {
        let name: StrDeserializer<'_, DecodeError> = self.0.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for VariantName<'_> {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<(), DecodeError> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, _: S) -> Result<S::Value, DecodeError> {
        Err(content_is_impossible())
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, DecodeError> {
        Err(content_is_impossible())
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, DecodeError> {
        Err(content_is_impossible())
    }
}

fn content_is_impossible() -> DecodeError {
    DecodeError::Unplaced("a plain word cannot carry content".to_owned())
}
