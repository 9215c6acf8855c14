//! `program!`: structs.

#[doc(hidden)]
#[macro_export]
macro_rules! __program_export {
    ($f:ident [$({ $P:ident $($field:tt)* })*]) => { $( #[doc(inline)] pub use self::$f::$P; )* };
}

/// Structs: one type parameter for each field, named as the field, so that literals of Rust infer
/// them.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_structs {
    ([$({ $P:ident $($field:tt)* })*]) => {
        $( $crate::__program_struct! { @name $P [] [$($field)*] [A B C D E F G H I J K L M N O P] } )*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __program_struct {
    // Each field gets the name of one more type parameter, of which `Fit` needs two.
    (@name $P:ident [$($done:tt)*] [($field:ident $kind:tt) $($fields:tt)*] [$T:ident $($more:ident)*]) => {
        $crate::__program_struct! { @name $P [$($done)* ($field $kind $T)] [$($fields)*] [$($more)*] }
    };
    (@name $P:ident [$($done:tt)*] [] $more:tt) => {
        $crate::__program_struct! { $P $($done)* }
    };
    (@name $P:ident $done:tt $fields:tt []) => {
        ::core::compile_error!("program!: a struct has at most 16 fields: put some of them in a struct of their own");
    };
    ($P:ident $(($field:ident $kind:tt $T:ident))*) => {
        /// A struct of the program, generic over the numbers in its fields.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $P<$($field = $crate::__program_kind!($kind)),*> {
            $(pub $field: $field),*
        }
        const _: () = {
            type __K = $P<$($crate::__program_kind!($kind)),*>;
            type __Staged = $P<$(<$crate::__program_kind!($kind) as __p::Shape>::Staged),*>;
            impl __p::Shape for __K {
                type Public<S: __p::Number> = $P<$(<$crate::__program_kind!($kind) as __p::Shape>::Public<S>),*>;
                type Native<S: __p::Number> = $P<$(<$crate::__program_kind!($kind) as __p::Shape>::Native<S>),*>;
                type Staged = __Staged;
                type Bar = $P<$(<$crate::__program_kind!($kind) as __p::Shape>::Bar),*>;
                fn kind() -> __p::Kind {
                    __p::Kind::structure(__p::plain(::core::stringify!($P)), [$((
                        __p::plain(::core::stringify!($field)),
                        <$crate::__program_kind!($kind) as __p::Shape>::kind(),
                    )),*])
                }
                fn wrap<S: __p::Number>(p: Self::Public<S>) -> Self::Native<S> {
                    $P { $($field: <$crate::__program_kind!($kind) as __p::Shape>::wrap::<S>(p.$field)),* }
                }
                fn unwrap<S: __p::Number>(p: Self::Native<S>) -> Self::Public<S> {
                    $P { $($field: <$crate::__program_kind!($kind) as __p::Shape>::unwrap::<S>(p.$field)),* }
                }
                fn datum<S: __p::Number>(p: Self::Native<S>) -> __p::native::Value<S> {
                    __p::native::Value::Tuple(::std::vec![
                        $(<$crate::__program_kind!($kind) as __p::Shape>::datum::<S>(p.$field)),*
                    ])
                }
                fn native<S: __p::Number>(value: __p::native::Value<S>) -> Self::Native<S> {
                    let mut fields = __p::shape::fields::<S>(value);
                    $P { $($field: <$crate::__program_kind!($kind) as __p::Shape>::native::<S>(fields.next())),* }
                }
            }
            impl<$($field: __p::shape::HasTangent),*> __p::shape::HasTangent for $P<$($field),*> {}
            impl<$($field: __p::staged::Fit<<$crate::__program_kind!($kind) as __p::Shape>::Staged>),*>
                __p::staged::Operand for $P<$($field),*>
            {
                fn given(self, hint: ::core::option::Option<&__p::Kind>) -> __p::StagedOperand {
                    if let ::core::option::Option::Some(node) = self.handle() {
                        return __p::staged::read(node);
                    }
                    let fields = [$(__p::staged::Operand::given(
                        self.$field,
                        ::core::option::Option::Some(&<$crate::__program_kind!($kind) as __p::Shape>::kind()),
                    )),*];
                    __p::staged::structure(&<__K as __p::Shape>::kind(), &fields)
                }
                fn handle(&self) -> ::core::option::Option<u32> {
                    __p::staged::whole(&[$(__p::staged::Operand::handle(&self.$field)),*])
                }
            }
            impl __p::staged::Handle for __Staged {
                fn of(node: u32) -> Self {
                    let mut k = 0;
                    $P { $($field: { k += 1; __p::staged::Handle::of(__p::staged::field(node, k - 1)) }),* }
                }
                fn kind() -> __p::Kind {
                    <__K as __p::Shape>::kind()
                }
            }
            impl<$($field: __p::staged::Fit<<$crate::__program_kind!($kind) as __p::Shape>::Staged>),*>
                __p::staged::Bind for $P<$($field),*>
            {
                type Out = __Staged;
            }
            impl<$($field: __p::staged::Fit<<$crate::__program_kind!($kind) as __p::Shape>::Staged>),*>
                __p::staged::Fit<__Staged> for $P<$($field),*>
            {
            }
            impl<Num: __p::Number, $(
                $field: __p::native::Fit<<$crate::__program_kind!($kind) as __p::Shape>::Native<Num>>
            ),*> __p::native::Bind<Num> for $P<$($field),*> {
                type Out = $P<$(<$crate::__program_kind!($kind) as __p::Shape>::Native<Num>),*>;
                fn bind(self) -> Self::Out {
                    $P { $($field: __p::native::Fit::fit(self.$field)),* }
                }
            }
            impl<$($T, $field: __p::native::Fit<$T>),*> __p::native::Fit<$P<$($T),*>> for $P<$($field),*> {
                fn fit(self) -> $P<$($T),*> {
                    $P { $($field: __p::native::Fit::fit(self.$field)),* }
                }
            }
            impl<$($field: __p::native::Hold),*> __p::native::Hold for $P<$($field),*> {
                type Held<'a> = $P<$(<$field as __p::native::Hold>::Held<'a>),*> where Self: 'a;
                fn hold(&self) -> Self::Held<'_> {
                    $P { $($field: __p::native::Hold::hold(&self.$field)),* }
                }
            }
        };
    };
}
