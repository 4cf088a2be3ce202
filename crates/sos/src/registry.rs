//! The macro behind every registry of names: one line per fact, and the enum, its name, its index
//! and the list of all of them derive from it.

/// Declares a field-less enum whose variants carry the name that views show.
macro_rules! registry {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $( $(#[$variant_meta:meta])* $variant:ident => $text:literal, )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        $vis enum $name {
            $( $(#[$variant_meta])* $variant, )+
        }

        impl $name {
            /// Every member, in the order of the registry.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )+ ];
            /// The number of members.
            pub const COUNT: usize = Self::ALL.len();

            /// The member's name, as views show it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$variant => $text, )+
                }
            }

            /// The position in [`Self::ALL`].
            #[must_use]
            pub const fn index(self) -> usize {
                self as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(crate) use registry;
