//! The `record!` macro: stored objects that keep the fields they do not know.

use serde_json::{Map, Value};

/// Fields of a stored object that this version does not know, kept and written back.
pub type Extra = Map<String, Value>;

/// Defines a struct with its JSON form.
///
/// Each field is `req` (must be present), `opt` (an `Option`, left out when `None`) or `def`
/// (falls back to `Default` when absent or null, always written). All other fields of the JSON
/// object are collected in `extra`. Fields are written in the order they are declared, so a
/// person reading the file meets them in a useful order.
///
/// A struct may begin with a part, `[field: Type { .. }]`: fields that are stored in the same object,
/// and are a struct of their own in memory. The part has a constructor, which takes its first field,
/// and can be merged into another one.
///
/// A derive with `flatten` would do the same, but it buffers every object and its errors do not
/// name the field; these do.
macro_rules! record {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                [$(#[$part_meta:meta])* $part:ident : $part_name:ident {
                    $(#[$id_meta:meta])* req $id:ident : $id_ty:ty => $id_key:literal,
                    $( $(#[$pmeta:meta])* $pmode:ident $pfield:ident : $pty:ty => $pkey:literal, )*
                }]
            )?
            $( $(#[$fmeta:meta])* $mode:ident $field:ident : $ty:ty => $key:literal, )*
        }
    ) => {
        $(
            $(#[$part_meta])*
            #[derive(Debug, Clone, PartialEq, Eq)]
            pub struct $part_name {
                $(#[$id_meta])*
                pub $id: $id_ty,
                $( $(#[$pmeta])* pub $pfield: record!(@type $pmode $pty), )*
            }

            impl $part_name {
                /// Everything but the first field is absent.
                fn with_defaults($id: $id_ty) -> Self {
                    Self { $id, $( $pfield: Default::default(), )* }
                }

                /// Changes `target` to these values. An optional field that is absent changes
                /// nothing, and the name stays.
                pub fn merge_into(&self, target: &mut Self) {
                    $( record!(@merge $pmode self.$pfield, target.$pfield); )*
                }
            }
        )?

        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $( $(#[$part_meta])* pub $part: $part_name, )?
            $( $(#[$fmeta])* pub $field: record!(@type $mode $ty), )*
            /// Fields of the stored object that this version does not know.
            pub extra: $crate::Extra,
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                $(
                    map.serialize_entry($id_key, &self.$part.$id)?;
                    $( record!(@write $pmode map, $pkey, self.$part.$pfield); )*
                )?
                $( record!(@write $mode map, $key, self.$field); )*
                for (key, value) in &self.extra {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl<'de> serde::de::Visitor<'de> for Visitor {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("a JSON object (", stringify!($name), ")"))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<$name, A::Error> {
                        $(
                            let mut $id: Option<$id_ty> = None;
                            $( let mut $pfield: Option<record!(@type $pmode $pty)> = None; )*
                        )?
                        $( let mut $field: Option<record!(@type $mode $ty)> = None; )*
                        let mut extra = $crate::Extra::new();
                        while let Some(key) = map.next_key::<String>()? {
                            match key.as_str() {
                                $(
                                    $id_key => {
                                        $id = record!(@read req map, $id_key);
                                    }
                                    $( $pkey => {
                                        $pfield = record!(@read $pmode map, $pkey);
                                    } )*
                                )?
                                $( $key => {
                                    $field = record!(@read $mode map, $key);
                                } )*
                                _ => {
                                    extra.insert(key, map.next_value()?);
                                }
                            }
                        }
                        Ok($name {
                            $( $part: $part_name {
                                $id: record!(@finish req $id, $id_key),
                                $( $pfield: record!(@finish $pmode $pfield, $pkey), )*
                            }, )?
                            $( $field: record!(@finish $mode $field, $key), )*
                            extra,
                        })
                    }
                }
                deserializer.deserialize_map(Visitor)
            }
        }
    };

    (@type opt $ty:ty) => { Option<$ty> };
    (@type $mode:ident $ty:ty) => { $ty };

    (@write opt $map:ident, $key:literal, $value:expr) => {
        if let Some(value) = &$value {
            $map.serialize_entry($key, value)?;
        }
    };
    (@write $mode:ident $map:ident, $key:literal, $value:expr) => {
        $map.serialize_entry($key, &$value)?;
    };

    (@merge opt $value:expr, $target:expr) => {
        if $value.is_some() {
            $target.clone_from(&$value);
        }
    };
    (@merge $mode:ident $value:expr, $target:expr) => { $target.clone_from(&$value) };

    (@read req $map:ident, $key:literal) => {
        Some($map.next_value().map_err(|error| $crate::record::field_error($key, &error))?)
    };
    // An explicit null means the same as leaving the field out.
    (@read opt $map:ident, $key:literal) => {
        Some($map.next_value().map_err(|error| $crate::record::field_error($key, &error))?)
    };
    (@read def $map:ident, $key:literal) => {
        $map.next_value().map_err(|error| $crate::record::field_error($key, &error))?
    };

    (@finish req $field:ident, $key:literal) => {
        $field.ok_or_else(|| serde::de::Error::missing_field($key))?
    };
    (@finish $mode:ident $field:ident, $key:literal) => { $field.unwrap_or_default() };
}

/// Names the field in an error of its value.
pub(crate) fn field_error<E: serde::de::Error>(key: &str, error: &E) -> E {
    E::custom(format_args!("field `{key}`: {error}"))
}
