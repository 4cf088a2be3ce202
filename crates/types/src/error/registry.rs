//! The macro that declares the registry of messages: an enum whose variants have a number, a
//! severity and a text.

/// A message of the registry: its number, severity and text, and the names and types of its
/// arguments.
pub type MessageText = (i32, u8, &'static str, &'static [(&'static str, &'static str)]);

/// Declares `Msg`: per message a variant with its arguments, number, severity and text.
macro_rules! messages {
    ($($name:ident $(($($arg:ident: $type:ty),+))? = $number:literal, $severity:literal, $text:literal;)+) => {
        /// A message of the registry with its arguments; turn it into an [`crate::Error`] with
        /// `.into()`.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Msg<'a> {
            $(
                #[doc = concat!("Message ", $number, ", severity ", $severity, ": `", $text, "`")]
                $name $(($($type),+))?,
            )+
            #[doc(hidden)]
            _Lifetime(std::marker::PhantomData<&'a ()>, std::convert::Infallible),
        }

        impl Msg<'_> {
            /// Returns the number and the severity.
            pub const fn number_and_severity(&self) -> (i32, u8) {
                match self {
                    $(messages!(@pattern $name $(($($arg),+))?) => ($number, $severity),)+
                    Self::_Lifetime(_, never) => match *never {},
                }
            }

            /// The number and severity of every message, in the order of the registry.
            pub const ALL: &'static [(i32, u8)] = &[$(($number, $severity)),+];

            /// Number, severity and text of every message, and the names and types of its
            /// arguments.
            pub const TEXTS: &'static [MessageText] = &[
                $(($number, $severity, $text, &[$($((stringify!($arg), stringify!($type))),+)?])),+
            ];
        }

        impl fmt::Display for Msg<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name $(($($arg),+))? => write!(f, $text),)+
                    Self::_Lifetime(_, never) => match *never {},
                }
            }
        }
    };
    (@pattern $name:ident) => { Self::$name };
    (@pattern $name:ident ($($arg:ident),+)) => { Self::$name(..) };
}
