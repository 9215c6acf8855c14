//! `program!`: what a statement becomes, in either world.

/// Expansion of a statement.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_write {
    (native let $mut:tt $x:tt [] ($e:expr)) => {
        let held = __p::native::Bind::<S>::bind($e);
        $crate::__program_write! { native hold $mut $x held }
    };
    (native let $mut:tt $x:tt [$k:ty] ($e:expr)) => {
        let held: <$k as __p::Shape>::Native<S> = __p::native::fit($e);
        $crate::__program_write! { native hold $mut $x held }
    };
    (native let_block $mut:tt $x:tt $t:tt) => {
        let held;
        $crate::__program_write! { native block held $t }
        $crate::__program_write! { native hold $mut $x held }
    };
    (native block $held:ident {$($t:tt)*}) => {
        { $crate::__program_body! { native [give $held] $($t)* } }
    };
    (staged let_block [$($mut:tt)?] $x:tt {$($t:tt)*}) => {
        let $($mut)? $x = {
            let mut block = __p::flow::Last::new();
            { $crate::__program_body! { staged [give block] $($t)* } }
            __p::staged::declare(block.value())
        };
    };
    (native hold [] $x:tt $held:ident) => { let mut $x = __p::native::Hold::hold(&$held); };
    (native hold [mut] $x:tt $held:ident) => { let mut $x = $held; };
    (native tuple [$($x:tt)*] ($e:expr)) => { let ($($x,)*) = __p::native::Bind::<S>::bind($e); };
    (native ret ($e:expr)) => { return __p::native::fit($e); };
    (native break) => { break; };
    (native continue) => { continue; };
    (native give $slot:ident ($e:expr)) => { $slot = __p::native::Bind::<S>::bind($e); };
    (native fit $slot:ident ($e:expr)) => { $slot = __p::native::fit($e); };
    (native fill ($e:expr) ($n:expr)) => { __p::native::Fill($e, __p::native::fit($n)) };
    (native rows ($e:expr) ($n:expr) ($m:expr)) => {
        __p::native::Rows(__p::native::Fill($e, __p::native::fit($n)), __p::native::fit($m))
    };
    (native item ($e:expr)) => { __p::native::Bind::<S>::bind($e) };
    (native set [$($x:tt)*] ($e:expr)) => { $($x)* = __p::native::fit($e); };
    (native element [$($x:tt)*] ($i:expr) ($e:expr)) => {
        {
            let value = __p::native::fit($e);
            let i = $i;
            $($x)*[i] = value;
        }
    };
    (native element [$($x:tt)*] ($i:expr) ($op:tt $Op:ident) ($e:expr)) => {
        {
            let value = $e;
            let i = $i;
            $($x)*[i] $op value;
        }
    };

    (staged let [$($mut:tt)?] $x:tt [] ($e:expr)) => { let $($mut)? $x = __p::staged::declare($e); };
    (staged let [$($mut:tt)?] $x:tt [$k:ty] ($e:expr)) => {
        let $($mut)? $x = __p::staged::declare_as::<<$k as __p::Shape>::Staged, _>($e);
    };
    (staged tuple [$($x:tt)*] ($e:expr)) => { let ($($x,)*) = __p::staged::bind($e); };
    (staged ret ($e:expr)) => { __give($e); };
    (staged break) => { __p::flow::leave(false); };
    (staged continue) => { __p::flow::leave(true); };
    (staged give $slot:ident ($e:expr)) => { $slot.give($e); };
    (staged fit $slot:ident ($e:expr)) => { $slot.give_as($e); };
    (staged fill ($e:expr) ($n:expr)) => { __p::staged::Fill($e, $n) };
    (staged rows ($e:expr) ($n:expr) ($m:expr)) => { __p::staged::Rows(__p::staged::Fill($e, $n), $m) };
    (staged item ($e:expr)) => { __p::staged::bind($e) };
    (staged no_match ($e:expr)) => { __p::staged::there_is_no_match($e); };
    // The place as an expression: so an error about it points to the user's code.
    (staged set [$($x:tt)*] $e:tt) => { $crate::__program_write! { staged @set ($($x)*) $e } };
    (staged @set ($x:expr) ($e:expr)) => {
        {
            let value = __p::staged::new($e);
            $x.__assign(value);
        }
    };
    (staged element [$($x:tt)*] $($rest:tt)*) => {
        $crate::__program_write! { staged @element ($($x)*) $($rest)* }
    };
    (staged @element ($x:expr) ($i:expr) ($e:expr)) => {
        {
            let value = __p::staged::new($e);
            $x.__assign_element($i, ::core::option::Option::None, value);
        }
    };
    (staged @element ($x:expr) ($i:expr) ($op:tt $Op:ident) ($e:expr)) => {
        {
            let value = __p::staged::new($e);
            $x.__assign_element($i, ::core::option::Option::Some(__p::InfixOperator::$Op), value);
        }
    };
}
