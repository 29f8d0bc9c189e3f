//! The JSON schema of tool arguments, in the form that providers accept.

mod order;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// The schema of a tool's arguments: an object without `$schema`, definitions or titles.
///
/// Its text has the arguments in the order in which they are declared, because models write them in the
/// order of the schema. A [`Value`] sorts them by name, and takes several times the memory of the text.
#[derive(Clone, Debug)]
pub struct Schema {
    text: Box<RawValue>,
    /// The names of the arguments in the order of their declaration.
    declared: &'static [&'static str],
}

impl Schema {
    pub(crate) fn of<T: JsonSchema + DeserializeOwned>() -> Self {
        let value = generate::<T>();
        let declared = order::declared_fields::<T>();
        let text = order::to_text(&value, declared);
        Self { text, declared }
    }

    /// A schema that another program wrote, as it is.
    pub fn foreign(value: &Value) -> Self {
        let text = order::to_text(value, &[]);
        Self {
            text,
            declared: &[],
        }
    }

    /// The schema as JSON text in the declared order.
    pub fn raw(&self) -> &RawValue {
        &self.text
    }

    /// The schema as a value, for looking things up.
    pub fn value(&self) -> Value {
        serde_json::from_str(self.text.get()).expect("the text was made from a value")
    }

    /// A summary of the arguments, for error messages.
    pub(crate) fn summary(&self) -> String {
        let schema = self.value();
        let Some(Value::Object(properties)) = schema.get("properties") else {
            return "no arguments".to_owned();
        };
        let required = order::required(&schema);
        let one = |(name, property): (&str, &Value)| {
            let kind = property.get("type").and_then(Value::as_str);
            let kind = kind.unwrap_or("any");
            let optional = match required.contains(&name) {
                true => "",
                false => ", optional",
            };
            format!("{name} ({kind}{optional})")
        };
        let ordered = order::ordered(properties, self.declared);
        let all: Vec<String> = ordered.into_iter().map(one).collect();
        match all.is_empty() {
            true => "no arguments".to_owned(),
            false => all.join(", "),
        }
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.text.get() == other.text.get()
    }
}

impl Eq for Schema {}

fn generate<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    tidy(&mut schema);
    if let Value::Object(object) = &mut schema {
        // The description of the type repeats that of the tool.
        object.remove("description");
        object.insert("type".to_owned(), json!("object"));
        object.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// Removes what tells a model nothing: details of Rust types, and limits that a wrong call is told anyway. An
/// optional argument is one that is not required; that it may also be null is left out.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            for key in ["title", "$schema", "format"] {
                remove_text(object, key);
            }
            for (key, value) in [
                ("default", Value::Null),
                ("default", json!([])),
                ("additionalProperties", json!(false)),
                ("minimum", json!(0)),
                ("maximum", json!(u8::MAX)),
            ] {
                if object.get(key) == Some(&value) {
                    object.remove(key);
                }
            }
            if let Some(kind) = object.get_mut("type") {
                unless_null(kind);
            }
            object.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Removes only text: a property may have one of these names, and its value is then an object.
fn remove_text(object: &mut Map<String, Value>, key: &str) {
    if object.get(key).is_some_and(Value::is_string) {
        object.remove(key);
    }
}

fn unless_null(kind: &mut Value) {
    if let Value::Array(kinds) = kind {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            *kind = only.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the schema is of interest")]
    struct Args {
        /// Where.
        path: String,
        /// How many.
        limit: Option<u64>,
        /// A field with an awkward name.
        title: Option<Inner>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the schema is of interest")]
    struct Inner {
        flag: bool,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}

    #[test]
    fn schemas_are_inline_and_plain() {
        let described = Schema::of::<Args>();
        let schema = described.value();
        assert_eq!(schema["required"], json!(["path"]));
        assert_eq!(
            schema["properties"]["limit"],
            json!({"type": "integer", "description": "How many."})
        );
        let text = schema.to_string();
        for word in ["$schema", "$defs", "$ref", "uint64", "additionalProperties"] {
            assert!(!text.contains(word), "{text}");
        }
        assert!(schema["properties"]["title"].is_object());
        assert_eq!(
            described.summary(),
            "path (string), limit (integer, optional), title (object, optional)"
        );
    }

    #[test]
    fn no_arguments_are_an_empty_object() {
        let schema = Schema::of::<Nothing>();
        let wanted = json!({"type": "object", "properties": {}});
        assert_eq!(schema.value(), wanted);
        assert_eq!(schema.summary(), "no arguments");
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the schema is of interest")]
    struct Ordered {
        path: String,
        #[serde(rename = "oldText", alias = "aaa")]
        old: Option<String>,
        #[serde(default)]
        new: Option<String>,
        parts: Vec<Part>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is of interest")]
    struct Part {
        zeal: String,
        /// A property may have the name of a keyword.
        properties: String,
        all: Option<bool>,
    }

    #[test]
    fn the_text_has_the_order_of_the_declaration() {
        let schema = Schema::of::<Ordered>();
        let text = schema.raw().get();
        let at = |name: &str| {
            let quoted = format!("\"{name}\":{{");
            text.find(&quoted)
                .unwrap_or_else(|| panic!("{name}: {text}"))
        };
        let names = ["path", "oldText", "new", "parts", "zeal"];
        assert!(names.is_sorted_by_key(|name| at(name)), "{text}");
        let nested = r#""properties":{"zeal":{"type":"string"},"properties":{"#;
        assert!(text.contains(nested), "{text}");
        let parsed: Value = serde_json::from_str(text).unwrap();
        assert_eq!(parsed, schema.value(), "the text says the same");
    }
}
