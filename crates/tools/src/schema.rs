//! The JSON schema of tool arguments, in the form that providers accept.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The schema of `T`: an object without `$schema`, definitions or titles.
pub(crate) fn of<T: JsonSchema>() -> Value {
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
        object.insert("additionalProperties".to_owned(), json!(false));
        object.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// Removes details of Rust types. An optional argument is one that is not required; that it may also be
/// null is left out.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            for key in ["title", "$schema", "format"] {
                remove_text(object, key);
            }
            if object.get("default") == Some(&Value::Null) {
                object.remove("default");
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

/// A summary of the arguments, for error messages.
pub(crate) fn summary(schema: &Value) -> String {
    let required: Vec<&str> = match schema.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(_) | None => Vec::new(),
    };
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return "no arguments".to_owned();
    };
    let one = |(name, property): (&String, &Value)| {
        let kind = property
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or("any");
        let optional = if required.contains(&name.as_str()) {
            ""
        } else {
            ", optional"
        };
        format!("{name} ({kind}{optional})")
    };
    let all: Vec<String> = properties.iter().map(one).collect();
    if all.is_empty() {
        "no arguments".to_owned()
    } else {
        all.join(", ")
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
        let schema = of::<Args>();
        assert_eq!(schema["additionalProperties"], json!(false));
        assert_eq!(schema["required"], json!(["path"]));
        assert_eq!(
            schema["properties"]["limit"],
            json!({"type": "integer", "minimum": 0, "description": "How many."})
        );
        let text = schema.to_string();
        for word in ["$schema", "$defs", "$ref", "uint64"] {
            assert!(!text.contains(word), "{text}");
        }
        assert!(schema["properties"]["title"].is_object());
        assert_eq!(
            summary(&schema),
            "limit (integer, optional), path (string), title (object, optional)"
        );
    }

    #[test]
    fn no_arguments_are_an_empty_object() {
        let schema = of::<Nothing>();
        let wanted = json!({"type": "object", "properties": {}, "additionalProperties": false});
        assert_eq!(schema, wanted);
        assert_eq!(summary(&schema), "no arguments");
    }
}
