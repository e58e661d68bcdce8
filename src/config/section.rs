//! Declares a section: its struct, its keys and how they are read, from one list.

/// One section of the configuration. Each field is a key: its type says what it takes, the text
/// behind it is the default, its comment is what an operator reads.
macro_rules! section {
    (
        $(#[doc = $about:literal])*
        $name:ident in $section:literal {
            $( $(#[doc = $doc:literal])* $field:ident: $kind:ty = $default:literal, )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug)]
        pub struct $name {
            $( $(#[doc = $doc])* pub $field: $kind, )*
        }

        impl $name {
            /// The section's keys, in their order.
            pub(in crate::config) const KEYS: &'static [$crate::config::Key] = &[
                $( $crate::config::Key {
                    section: $section,
                    name: stringify!($field),
                    kind: <$kind as $crate::config::setting::Setting>::KIND,
                    default: $default,
                    about: concat!($($doc),*).trim_ascii_start(),
                    shown: <$kind as $crate::config::setting::Setting>::shown,
                }, )*
            ];

            /// Reads every key; one that cannot be read is noted and has its default.
            pub(in crate::config) fn read(
                layers: &$crate::config::layers::Layers,
                mistakes: &mut $crate::config::Mistakes,
            ) -> Self {
                Self {
                    $( $field: layers.read($section, stringify!($field), $default, mistakes), )*
                }
            }
        }
    };
}

pub(super) use section;
