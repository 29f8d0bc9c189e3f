//! The order of the arguments in a schema.
//!
//! A generated schema is a [`Value`], whose objects are sorted by name. The order of the declaration is
//! still known to serde, which hands the names of the fields to a deserializer. Nested types are ordered
//! by their list of required fields, which is in the order of the declaration; the optional ones follow.

use serde::de::{DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

const PROPERTIES: &str = "properties";

/// The names of the fields of `T` as they are declared, aliases included. Empty if it is no struct.
pub(super) fn declared_fields<T: DeserializeOwned>() -> &'static [&'static str] {
    match T::deserialize(FieldNames) {
        Err(Names(names)) => names,
        Ok(_) => &[],
    }
}

/// The text of a schema with the properties in the given order.
pub(super) fn to_text(schema: &Value, declared: &[&str]) -> Box<RawValue> {
    let ordered = Ordered { schema, declared };
    to_raw_value(&ordered).expect("a JSON value can be written as JSON")
}

/// The properties with these names, then the others.
pub(super) fn ordered<'a>(
    properties: &'a Map<String, Value>,
    first: &[&str],
) -> Vec<(&'a str, &'a Value)> {
    let mut ordered: Vec<(&str, &Value)> = Vec::with_capacity(properties.len());
    let known = first
        .iter()
        .filter_map(|name| properties.get_key_value(*name));
    let all = known.chain(properties);
    for (name, property) in all {
        if ordered.iter().all(|(other, _)| other != name) {
            ordered.push((name, property));
        }
    }
    ordered
}

/// The names of the properties that are required.
pub(super) fn required(schema: &Value) -> Vec<&str> {
    match schema.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(_) | None => Vec::new(),
    }
}

/// A schema that is written with its properties in order.
struct Ordered<'a> {
    schema: &'a Value,
    /// The names of its properties, if it is that of the whole type.
    declared: &'a [&'a str],
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let nested = |schema| Ordered {
            schema,
            declared: &[],
        };
        match self.schema {
            Value::Object(object) => {
                let required = required(self.schema);
                let mut map = serializer.serialize_map(Some(object.len()))?;
                for (key, value) in object {
                    match value {
                        Value::Object(properties) if key == PROPERTIES => {
                            let first = [self.declared, &required].concat();
                            map.serialize_entry(key, &Properties(ordered(properties, &first)))?;
                        }
                        value => map.serialize_entry(key, &nested(value))?,
                    }
                }
                map.end()
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(nested)),
            plain => plain.serialize(serializer),
        }
    }
}

/// Properties, which are schemas by name.
struct Properties<'a>(Vec<(&'a str, &'a Value)>);

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, schema)| {
            let declared: &[&str] = &[];
            (name, Ordered { schema, declared })
        }))
    }
}

/// A deserializer that has no data: it takes the names of a struct's fields and fails with them.
struct FieldNames;

#[derive(Debug, thiserror::Error)]
#[error("the fields {0:?}")]
struct Names(&'static [&'static str]);

impl serde::de::Error for Names {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Self(&[])
    }
}

impl<'de> Deserializer<'de> for FieldNames {
    type Error = Names;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Names> {
        Err(Names(&[]))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Names> {
        Err(Names(fields))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
