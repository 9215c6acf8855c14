//! `program!`: what has blocks. `if`, `while` and `for` with their heads, and conditions.
//!
//! A head ends at the first `{`; its tokens are cut off eight at a time. A condition is split at
//! `||`, then at `&&`, then at its comparison, some tokens at a time, and each part is written by
//! itself, so that the operands are expressions of Rust.

/// Cuts the tokens before the block off: `$c` says what they belong to.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_head {
    (@long $c:tt [$($a:tt)*] {$($t:tt)*} $($r:tt)*) => {
        $crate::__program_block_of! { $c ($($a)*) {$($t)*} $($r)* }
    };
    (@long $c:tt [$($a:tt)*] $x:tt $($r:tt)*) => { $crate::__program_head! { @long $c [$($a)* $x] $($r)* } };
    (@long (native $($c:tt)*) [$($a:tt)*]) => { loop {} };
    (@long $c:tt [$($a:tt)*]) => {
        ::core::compile_error!(::core::concat!(
            "program!: expected a block `{ … }` after `", ::core::stringify!($($a)*), "`"
        ));
    };
    ($c:tt $a:tt {$($t:tt)*} $($r:tt)*) => { $crate::__program_block_of! { $c ($a) {$($t)*} $($r)* } };
    ($c:tt $a:tt $b:tt {$($t:tt)*} $($r:tt)*) => { $crate::__program_block_of! { $c ($a $b) {$($t)*} $($r)* } };
    ($c:tt $a0:tt $a1:tt $a2:tt {$($t:tt)*} $($r:tt)*) => {
        $crate::__program_block_of! { $c ($a0 $a1 $a2) {$($t)*} $($r)* }
    };
    ($c:tt $a0:tt $a1:tt $a2:tt $a3:tt {$($t:tt)*} $($r:tt)*) => {
        $crate::__program_block_of! { $c ($a0 $a1 $a2 $a3) {$($t)*} $($r)* }
    };
    ($c:tt $a0:tt $a1:tt $a2:tt $a3:tt $a4:tt {$($t:tt)*} $($r:tt)*) => {
        $crate::__program_block_of! { $c ($a0 $a1 $a2 $a3 $a4) {$($t)*} $($r)* }
    };
    ($c:tt $a0:tt $a1:tt $a2:tt $a3:tt $a4:tt $a5:tt {$($t:tt)*} $($r:tt)*) => {
        $crate::__program_block_of! { $c ($a0 $a1 $a2 $a3 $a4 $a5) {$($t)*} $($r)* }
    };
    ($c:tt $a0:tt $a1:tt $a2:tt $a3:tt $a4:tt $a5:tt $a6:tt {$($t:tt)*} $($r:tt)*) => {
        $crate::__program_block_of! { $c ($a0 $a1 $a2 $a3 $a4 $a5 $a6) {$($t)*} $($r)* }
    };
    ($c:tt $a0:tt $a1:tt $a2:tt $a3:tt $a4:tt $a5:tt $a6:tt $a7:tt {$($t:tt)*} $($r:tt)*) => {
        $crate::__program_block_of! { $c ($a0 $a1 $a2 $a3 $a4 $a5 $a6 $a7) {$($t)*} $($r)* }
    };
    ($c:tt $($r:tt)*) => { $crate::__program_head! { @long $c [] $($r)* } };
}

/// A head and its block, and what follows.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_block_of {
    // Chains of `if`: the arms are collected, then written.
    (($m:ident $tl:tt if [$($arms:tt)*]) $c:tt $t:tt else if $($r:tt)*) => {
        $crate::__program_head! { ($m $tl if [$($arms)* ($c $t)]) $($r)* }
    };
    (($m:ident $tl:tt if [$($arms:tt)*]) $c:tt $t:tt else {$($e:tt)*}) => {
        $crate::__program_if! { $m $tl [$($arms)* ($c $t)] {$($e)*} }
    };
    (($m:ident $tl:tt if [$($arms:tt)*]) $c:tt $t:tt else {$($e:tt)*} $($r:tt)+) => {
        $crate::__program_if! { $m [none] [$($arms)* ($c $t)] {$($e)*} }
        $crate::__program_statement! { $m $tl $($r)+ }
    };
    (($m:ident $tl:tt if [$($arms:tt)*]) $c:tt $t:tt $($r:tt)*) => {
        $crate::__program_if! { $m [none] [$($arms)* ($c $t)] {} }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    (($m:ident $tl:tt let_if $x:tt [$($arms:tt)*]) $c:tt $t:tt else if $($r:tt)*) => {
        $crate::__program_head! { ($m $tl let_if $x [$($arms)* ($c $t)]) $($r)* }
    };
    (($m:ident $tl:tt let_if [$mut:tt $x:tt $k:tt] [$($arms:tt)*]) $c:tt $t:tt else {$($e:tt)*} ; $($r:tt)*) => {
        $crate::__program_if! { @$m let $mut $x $k [$($arms)* ($c $t)] {$($e)*} }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    (($m:ident $tl:tt set_if $x:tt [$($arms:tt)*]) $c:tt $t:tt else if $($r:tt)*) => {
        $crate::__program_head! { ($m $tl set_if $x [$($arms)* ($c $t)]) $($r)* }
    };
    (($m:ident $tl:tt set_if $x:tt [$($arms:tt)*]) $c:tt $t:tt else {$($e:tt)*} ; $($r:tt)*) => {
        $crate::__program_if! { @$m set $x [$($arms)* ($c $t)] {$($e)*} }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ((native $tl:tt $what:ident $x:tt $arms:tt) $c:tt $t:tt $($r:tt)*) => { loop {} };
    (($m:ident $tl:tt $what:ident $x:tt $arms:tt) $c:tt $t:tt $($r:tt)*) => {
        ::core::compile_error!(
            "program!: an `if` that is a value needs an `else` and a `;` at its end: `let y = if c { a } else { b };`"
        );
    };

    // Loops.
    ((native $tl:tt while) ($($c:tt)*) {$($t:tt)*} $($r:tt)*) => {
        while $crate::__program_condition!(native $($c)*) {
            $crate::__program_body! { native [none] $($t)* }
        }
        $crate::__program_statement! { native $tl $($r)* }
    };
    ((staged $tl:tt while) ($($c:tt)*) {$($t:tt)*} $($r:tt)*) => {
        {
            let mut round = __p::flow::While::begin();
            round.enter($crate::__program_forever!($($c)*));
            { $crate::__program_body! { staged [none] $($t)* } }
            round.end();
        }
        $crate::__program_statement! { staged $tl $($r)* }
    };
    (($m:ident $tl:tt for $i:tt) ($($range:tt)*) {$($t:tt)*} $($r:tt)*) => {
        $crate::__program_for! { $m $i [] [$($range)*] {$($t)*} }
        $crate::__program_statement! { $m $tl $($r)* }
    };
}

/// `for`: finds the dots of the range.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_for {
    ($m:ident $i:tt [$($a:tt)+] [.. $($b:tt)+] $t:tt) => {
        $crate::__program_for! { @$m $i ($($a)+) ($($b)+) (false) (..) $t }
    };
    ($m:ident $i:tt [$($a:tt)+] [..= $($b:tt)+] $t:tt) => {
        $crate::__program_for! { @$m $i ($($a)+) ($($b)+) (true) (..=) $t }
    };
    ($m:ident $i:tt [$($a:tt)*] [$x:tt $($b:tt)*] $t:tt) => {
        $crate::__program_for! { $m $i [$($a)* $x] [$($b)*] $t }
    };
    (native $i:tt $a:tt [] $t:tt) => { loop {} };
    ($m:ident $i:tt [$($a:tt)*] [] $t:tt) => {
        ::core::compile_error!(::core::concat!(
            "program!: `for ", ::core::stringify!($i), " in ", ::core::stringify!($($a)*),
            "`: a loop runs over a range `a..b` or `a..=b`"
        ));
    };
    (@native $i:tt ($a:expr) ($b:expr) $inclusive:tt ($dots:tt) {$($t:tt)*}) => {
        for $i in __p::native::fit::<i64, _>($a) $dots __p::native::fit::<i64, _>($b) {
            $crate::__program_body! { native [none] $($t)* }
        }
    };
    (@staged $i:tt ($a:expr) ($b:expr) ($inclusive:tt) $dots:tt {$($t:tt)*}) => {
        {
            let counter = __p::flow::For::begin($a, $b, $inclusive);
            {
                let $i = counter.variable();
                $crate::__program_body! { staged [none] $($t)* }
            }
            counter.end();
        }
    };
}

/// `if` with its arms, by what happens to its value.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_if {
    (native $tl:tt [(($($c:tt)*) {$($t:tt)*}) $($arms:tt)*] $e:tt) => {
        if $crate::__program_condition!(native $($c)*) {
            $crate::__program_body! { native $tl $($t)* }
        } else {
            $crate::__program_if! { native $tl [$($arms)*] $e }
        }
    };
    (native $tl:tt [] {$($e:tt)*}) => { $crate::__program_body! { native $tl $($e)* } };
    (staged [none] $arms:tt $e:tt) => {
        {
            let mut branches = __p::flow::If::<()>::new();
            $crate::__program_arms! { branches [none] $arms $e }
            branches.done();
        }
    };
    (staged [ret] $arms:tt $e:tt) => {
        {
            let mut branches = __p::flow::If::<__Out>::new();
            $crate::__program_arms! { branches [fit branches] $arms $e }
            __p::flow::give_if(branches);
        }
    };
    (staged [bars] $arms:tt $e:tt) => {
        {
            let mut branches = __p::flow::If::new();
            $crate::__program_arms! { branches [give branches] $arms $e }
            __give(branches.value());
        }
    };
    (staged [$how:ident $slot:ident] $arms:tt $e:tt) => {
        {
            let mut branches = __p::flow::If::new();
            $crate::__program_arms! { branches [give branches] $arms $e }
            $crate::__program_write! { staged $how $slot (branches.value()) }
        }
    };
    (@native let $mut:tt $x:tt [] $arms:tt $e:tt) => {
        let held;
        $crate::__program_if! { native [give held] $arms $e }
        $crate::__program_write! { native hold $mut $x held }
    };
    (@native let $mut:tt $x:tt [$k:ty] $arms:tt $e:tt) => {
        let held: <$k as __p::Shape>::Native<S>;
        $crate::__program_if! { native [fit held] $arms $e }
        $crate::__program_write! { native hold $mut $x held }
    };
    (@staged let [$($mut:tt)?] $x:tt [] $arms:tt $e:tt) => {
        let $($mut)? $x = {
            let mut branches = __p::flow::If::new();
            $crate::__program_arms! { branches [give branches] $arms $e }
            __p::staged::declare(branches.value())
        };
    };
    (@staged let [$($mut:tt)?] $x:tt [$k:ty] $arms:tt $e:tt) => {
        let $($mut)? $x = {
            let mut branches = __p::flow::If::<<$k as __p::Shape>::Staged>::new();
            $crate::__program_arms! { branches [fit branches] $arms $e }
            __p::staged::declare(branches.value())
        };
    };
    (@native set [$($x:tt)*] $arms:tt $e:tt) => {
        {
            let held;
            $crate::__program_if! { native [fit held] $arms $e }
            $($x)* = held;
        }
    };
    (@staged set [$($x:tt)*] $arms:tt $e:tt) => {
        {
            let mut branches = __p::flow::If::like(&$($x)*);
            $crate::__program_arms! { branches [fit branches] $arms $e }
            let value = __p::staged::new(branches.value());
            $($x)*.__assign(value);
        }
    };
}

/// The arms of a staged `if`.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_arms {
    ($branches:ident $tl:tt [$((($($c:tt)*) {$($t:tt)*}))*] {$($e:tt)*}) => {
        $(
            $branches.arm($crate::__program_condition!(staged $($c)*));
            { $crate::__program_body! { staged $tl $($t)* } }
            $branches.end_arm();
        )*
        { $crate::__program_body! { staged $tl $($e)* } }
    };
}

/// The condition of a staged loop.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_forever {
    (true) => { __p::flow::Always };
    ($($c:tt)*) => { $crate::__program_condition!(staged $($c)*) };
}

/// Conditions: `||`, `&&`, `!`, parentheses, and one comparison in each part.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_condition {
    ($m:ident $($t:tt)+) => { $crate::__program_condition!(@or $m [] [] $($t)+) };

    // `a || b || …`
    (@or $m:ident [$($done:tt)*] [$($a:tt)+] || $($r:tt)+) => {
        $crate::__program_condition!(@or $m [$($done)* ($($a)+)] [] $($r)+)
    };
    (@or $m:ident [$($done:tt)*] [$($a:tt)*] $x0:tt || $($r:tt)+) => {
        $crate::__program_condition!(@or $m [$($done)* ($($a)* $x0)] [] $($r)+)
    };
    (@or $m:ident [$($done:tt)*] [$($a:tt)*] $x0:tt $x1:tt || $($r:tt)+) => {
        $crate::__program_condition!(@or $m [$($done)* ($($a)* $x0 $x1)] [] $($r)+)
    };
    (@or $m:ident [$($done:tt)*] [$($a:tt)*] $x0:tt $x1:tt $x2:tt || $($r:tt)+) => {
        $crate::__program_condition!(@or $m [$($done)* ($($a)* $x0 $x1 $x2)] [] $($r)+)
    };
    (@or $m:ident [$($done:tt)*] [$($a:tt)*] $x0:tt $x1:tt $x2:tt $x3:tt || $($r:tt)+) => {
        $crate::__program_condition!(@or $m [$($done)* ($($a)* $x0 $x1 $x2 $x3)] [] $($r)+)
    };
    (@or $m:ident $done:tt [$($a:tt)*] $x0:tt $x1:tt $x2:tt $x3:tt $($r:tt)+) => {
        $crate::__program_condition!(@or $m $done [$($a)* $x0 $x1 $x2 $x3] $($r)+)
    };
    (@or $m:ident $done:tt [$($a:tt)*] $($r:tt)+) => {
        $crate::__program_condition!(@or $m $done [$($a)* $($r)+])
    };
    (@or $m:ident [] [$($a:tt)+]) => { $crate::__program_condition!(@and $m [] [] $($a)+) };
    (@or native [$(($($done:tt)+))+] [$($a:tt)+]) => {
        ($($crate::__program_condition!(@and native [] [] $($done)+) ||)+
            $crate::__program_condition!(@and native [] [] $($a)+))
    };
    (@or staged [($($first:tt)+) $(($($done:tt)+))*] [$($a:tt)+]) => {{
        let mut logic = __p::flow::Logic::begin($crate::__program_condition!(@and staged [] [] $($first)+));
        $(
            logic.next(false);
            logic.give($crate::__program_condition!(@and staged [] [] $($done)+));
        )*
        logic.next(false);
        logic.give($crate::__program_condition!(@and staged [] [] $($a)+));
        logic.end()
    }};

    // `a && b && …`
    (@and $m:ident [$($done:tt)*] [$($a:tt)+] && $($r:tt)+) => {
        $crate::__program_condition!(@and $m [$($done)* ($($a)+)] [] $($r)+)
    };
    (@and $m:ident [$($done:tt)*] [$($a:tt)*] $x0:tt && $($r:tt)+) => {
        $crate::__program_condition!(@and $m [$($done)* ($($a)* $x0)] [] $($r)+)
    };
    (@and $m:ident [$($done:tt)*] [$($a:tt)*] $x0:tt $x1:tt && $($r:tt)+) => {
        $crate::__program_condition!(@and $m [$($done)* ($($a)* $x0 $x1)] [] $($r)+)
    };
    (@and $m:ident [$($done:tt)*] [$($a:tt)*] $x0:tt $x1:tt $x2:tt && $($r:tt)+) => {
        $crate::__program_condition!(@and $m [$($done)* ($($a)* $x0 $x1 $x2)] [] $($r)+)
    };
    (@and $m:ident [$($done:tt)*] [$($a:tt)*] $x0:tt $x1:tt $x2:tt $x3:tt && $($r:tt)+) => {
        $crate::__program_condition!(@and $m [$($done)* ($($a)* $x0 $x1 $x2 $x3)] [] $($r)+)
    };
    (@and $m:ident $done:tt [$($a:tt)*] $x0:tt $x1:tt $x2:tt $x3:tt $($r:tt)+) => {
        $crate::__program_condition!(@and $m $done [$($a)* $x0 $x1 $x2 $x3] $($r)+)
    };
    (@and $m:ident $done:tt [$($a:tt)*] $($r:tt)+) => {
        $crate::__program_condition!(@and $m $done [$($a)* $($r)+])
    };
    (@and $m:ident [] [$($a:tt)+]) => { $crate::__program_condition!(@compare $m [] $($a)+) };
    (@and native [$(($($done:tt)+))+] [$($a:tt)+]) => {
        ($($crate::__program_condition!(@compare native [] $($done)+) &&)+
            $crate::__program_condition!(@compare native [] $($a)+))
    };
    (@and staged [($($first:tt)+) $(($($done:tt)+))*] [$($a:tt)+]) => {{
        let mut logic = __p::flow::Logic::begin($crate::__program_condition!(@compare staged [] $($first)+));
        $(
            logic.next(true);
            logic.give($crate::__program_condition!(@compare staged [] $($done)+));
        )*
        logic.next(true);
        logic.give($crate::__program_condition!(@compare staged [] $($a)+));
        logic.end()
    }};

    // One comparison.
    (@compare $m:ident [$($a:tt)+] < $($b:tt)+) => { $crate::__program_condition!(@with $m Lt ($($a)+) ($($b)+)) };
    (@compare $m:ident [$($a:tt)+] <= $($b:tt)+) => { $crate::__program_condition!(@with $m Le ($($a)+) ($($b)+)) };
    (@compare $m:ident [$($a:tt)+] > $($b:tt)+) => { $crate::__program_condition!(@with $m Gt ($($a)+) ($($b)+)) };
    (@compare $m:ident [$($a:tt)+] >= $($b:tt)+) => { $crate::__program_condition!(@with $m Ge ($($a)+) ($($b)+)) };
    (@compare $m:ident [$($a:tt)+] == $($b:tt)+) => { $crate::__program_condition!(@with $m Eq ($($a)+) ($($b)+)) };
    (@compare $m:ident [$($a:tt)+] != $($b:tt)+) => { $crate::__program_condition!(@with $m Ne ($($a)+) ($($b)+)) };
    (@compare $m:ident [$($a:tt)*] $x0:tt < $($b:tt)+) => {
        $crate::__program_condition!(@with $m Lt ($($a)* $x0) ($($b)+))
    };
    (@compare $m:ident [$($a:tt)*] $x0:tt <= $($b:tt)+) => {
        $crate::__program_condition!(@with $m Le ($($a)* $x0) ($($b)+))
    };
    (@compare $m:ident [$($a:tt)*] $x0:tt > $($b:tt)+) => {
        $crate::__program_condition!(@with $m Gt ($($a)* $x0) ($($b)+))
    };
    (@compare $m:ident [$($a:tt)*] $x0:tt >= $($b:tt)+) => {
        $crate::__program_condition!(@with $m Ge ($($a)* $x0) ($($b)+))
    };
    (@compare $m:ident [$($a:tt)*] $x0:tt == $($b:tt)+) => {
        $crate::__program_condition!(@with $m Eq ($($a)* $x0) ($($b)+))
    };
    (@compare $m:ident [$($a:tt)*] $x0:tt != $($b:tt)+) => {
        $crate::__program_condition!(@with $m Ne ($($a)* $x0) ($($b)+))
    };
    (@compare $m:ident [$($a:tt)*] $x0:tt $x1:tt < $($b:tt)+) => {
        $crate::__program_condition!(@with $m Lt ($($a)* $x0 $x1) ($($b)+))
    };
    (@compare $m:ident [$($a:tt)*] $x0:tt $x1:tt <= $($b:tt)+) => {
        $crate::__program_condition!(@with $m Le ($($a)* $x0 $x1) ($($b)+))
    };
    (@compare $m:ident [$($a:tt)*] $x0:tt $x1:tt > $($b:tt)+) => {
        $crate::__program_condition!(@with $m Gt ($($a)* $x0 $x1) ($($b)+))
    };
    (@compare $m:ident [$($a:tt)*] $x0:tt $x1:tt >= $($b:tt)+) => {
        $crate::__program_condition!(@with $m Ge ($($a)* $x0 $x1) ($($b)+))
    };
    (@compare $m:ident [$($a:tt)*] $x0:tt $x1:tt == $($b:tt)+) => {
        $crate::__program_condition!(@with $m Eq ($($a)* $x0 $x1) ($($b)+))
    };
    (@compare $m:ident [$($a:tt)*] $x0:tt $x1:tt != $($b:tt)+) => {
        $crate::__program_condition!(@with $m Ne ($($a)* $x0 $x1) ($($b)+))
    };
    (@compare $m:ident [$($a:tt)*] $x0:tt $x1:tt $($r:tt)+) => {
        $crate::__program_condition!(@compare $m [$($a)* $x0 $x1] $($r)+)
    };
    (@compare $m:ident [$($a:tt)*] $($r:tt)+) => {
        $crate::__program_condition!(@compare $m [$($a)* $($r)+])
    };
    (@compare $m:ident [($($a:tt)+)]) => { $crate::__program_condition!($m $($a)+) };
    (@compare native [! $($a:tt)+]) => { !$crate::__program_condition!(@compare native [$($a)+]) };
    (@compare staged [! $($a:tt)+]) => {
        __p::staged::not($crate::__program_condition!(@compare staged [$($a)+]))
    };
    (@compare $m:ident [$($a:tt)+]) => { $crate::__program_condition!(@truth $m ($($a)+)) };
    (@truth $m:ident ($a:expr)) => { __p::$m::truth($a) };
    (@with $m:ident $op:ident ($a:expr) ($b:expr)) => { __p::$m::compare(__p::Compare::$op, $a, $b) };
}
