//! `program!`: statements and conditions.
//!
//! Both bodies are read by the same rules; `$m` is the world (`native` or `staged`), `$tl` what happens to the
//! value at the end: `[ret]` returns it, `[give slot]` and `[fit slot]` hand it to an `if` with a value, `[bars]`
//! makes cotangents of it, `[none]` drops it. What a statement becomes stands in `__program_native!` and
//! `__program_staged!`.
//!
//! A body is cut at the next `;` after every 48 tokens, and the pieces are expanded one beside the other, so
//! the depth of macro calls, which rustc limits to 128, does not grow with every statement.

/// Statements; long bodies in pieces.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_body {
    ($m:ident $tl:tt
        $a0:tt $a1:tt $a2:tt $a3:tt $a4:tt $a5:tt $b0:tt $b1:tt $b2:tt $b3:tt $b4:tt $b5:tt $c0:tt $c1:tt
        $c2:tt $c3:tt $c4:tt $c5:tt $d0:tt $d1:tt $d2:tt $d3:tt $d4:tt $d5:tt $e0:tt $e1:tt $e2:tt $e3:tt
        $e4:tt $e5:tt $f0:tt $f1:tt $f2:tt $f3:tt $f4:tt $f5:tt $g0:tt $g1:tt $g2:tt $g3:tt $g4:tt $g5:tt
        $h0:tt $h1:tt $h2:tt $h3:tt $h4:tt $h5:tt
        $($rest:tt)+
    ) => {
        $crate::__program_cut! { $m $tl
            [$a0 $a1 $a2 $a3 $a4 $a5 $b0 $b1 $b2 $b3 $b4 $b5 $c0 $c1 $c2 $c3 $c4 $c5 $d0 $d1 $d2 $d3 $d4 $d5
            $e0 $e1 $e2 $e3 $e4 $e5 $f0 $f1 $f2 $f3 $f4 $f5 $g0 $g1 $g2 $g3 $g4 $g5 $h0 $h1 $h2 $h3 $h4 $h5]
            $($rest)+
        }
    };
    ($m:ident $tl:tt $($t:tt)*) => {
        $crate::__program_statement! { $m $tl $($t)* }
    };
}

/// Cuts after a `;` if something follows it.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_cut {
    ($m:ident $tl:tt [$($h:tt)*] ; $($rest:tt)+) => {
        $crate::__program_statement! { $m [none] $($h)* ; }
        $crate::__program_body! { $m $tl $($rest)+ }
    };
    ($m:ident $tl:tt [$($h:tt)*] $t0:tt ; $($rest:tt)+) => {
        $crate::__program_statement! { $m [none] $($h)* $t0 ; }
        $crate::__program_body! { $m $tl $($rest)+ }
    };
    ($m:ident $tl:tt [$($h:tt)*] $t0:tt $t1:tt ; $($rest:tt)+) => {
        $crate::__program_statement! { $m [none] $($h)* $t0 $t1 ; }
        $crate::__program_body! { $m $tl $($rest)+ }
    };
    ($m:ident $tl:tt [$($h:tt)*] $t0:tt $t1:tt $t2:tt ; $($rest:tt)+) => {
        $crate::__program_statement! { $m [none] $($h)* $t0 $t1 $t2 ; }
        $crate::__program_body! { $m $tl $($rest)+ }
    };
    ($m:ident $tl:tt [$($h:tt)*] $t0:tt $t1:tt $t2:tt $t3:tt ; $($rest:tt)+) => {
        $crate::__program_statement! { $m [none] $($h)* $t0 $t1 $t2 $t3 ; }
        $crate::__program_body! { $m $tl $($rest)+ }
    };
    ($m:ident $tl:tt [$($h:tt)*] $t0:tt $t1:tt $t2:tt $t3:tt $t4:tt $($rest:tt)*) => {
        $crate::__program_cut! { $m $tl [$($h)* $t0 $t1 $t2 $t3 $t4] $($rest)* }
    };
    ($m:ident $tl:tt [$($h:tt)*] $($rest:tt)*) => {
        $crate::__program_statement! { $m $tl $($h)* $($rest)* }
    };
}

/// One statement after the other.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_statement {
    ($m:ident $tl:tt) => {};
    ($m:ident $tl:tt ; $($r:tt)*) => { $crate::__program_statement! { $m $tl $($r)* } };

    // Blocks.
    ($m:ident $tl:tt if $($r:tt)*) => { $crate::__program_head! { ($m $tl if []) $($r)* } };
    ($m:ident $tl:tt while $($r:tt)*) => { $crate::__program_head! { ($m $tl while) $($r)* } };
    ($m:ident $tl:tt {$($t:tt)*} $($r:tt)+) => {
        { $crate::__program_body! { $m [none] $($t)* } }
        $crate::__program_statement! { $m $tl $($r)+ }
    };
    ($m:ident $tl:tt {$($t:tt)*}) => { { $crate::__program_body! { $m $tl $($t)* } } };
    ($m:ident $tl:tt for $i:tt in $($r:tt)*) => { $crate::__program_head! { ($m $tl for $i) $($r)* } };

    // `let`. Names are `tt`: an `ident` would stand at the macro, and so would errors about it.
    ($m:ident $tl:tt let ($($pattern:tt)*) = $e:expr; $($r:tt)*) => {
        $crate::__program_tuple! { $m [] ($e) $($pattern)* , }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt let mut $x:tt = {$($t:tt)*}; $($r:tt)*) => {
        $crate::__program_write! { $m let_block [mut] $x {$($t)*} }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt let $x:tt = {$($t:tt)*}; $($r:tt)*) => {
        $crate::__program_write! { $m let_block [] $x {$($t)*} }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt let mut $x:tt = if $($r:tt)*) => {
        $crate::__program_head! { ($m $tl let_if [[mut] $x []] []) $($r)* }
    };
    ($m:ident $tl:tt let $x:tt = if $($r:tt)*) => {
        $crate::__program_head! { ($m $tl let_if [[] $x []] []) $($r)* }
    };
    ($m:ident $tl:tt let mut $x:tt : $k:ty = if $($r:tt)*) => {
        $crate::__program_head! { ($m $tl let_if [[mut] $x [$k]] []) $($r)* }
    };
    ($m:ident $tl:tt let $x:tt : $k:ty = if $($r:tt)*) => {
        $crate::__program_head! { ($m $tl let_if [[] $x [$k]] []) $($r)* }
    };
    ($m:ident $tl:tt let mut $x:tt $(: $k:ty)? = [$e:expr; $n:expr]; $($r:tt)*) => {
        $crate::__program_write! { $m let [mut] $x [$($k)?] ($crate::__program_write!($m fill ($e) ($n))) }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt let $x:tt $(: $k:ty)? = [$e:expr; $n:expr]; $($r:tt)*) => {
        $crate::__program_write! { $m let [] $x [$($k)?] ($crate::__program_write!($m fill ($e) ($n))) }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt let mut $x:tt = [$($e:expr),+ $(,)?]; $($r:tt)*) => {
        $crate::__program_write! { $m let [mut] $x [] ([$($crate::__program_write!($m item ($e))),+]) }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt let $x:tt = [$($e:expr),+ $(,)?]; $($r:tt)*) => {
        $crate::__program_write! { $m let [] $x [] ([$($crate::__program_write!($m item ($e))),+]) }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt let mut $x:tt $(: $k:ty)? = $e:expr; $($r:tt)*) => {
        $crate::__program_write! { $m let [mut] $x [$($k)?] ($e) }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt let $x:tt $(: $k:ty)? = $e:expr; $($r:tt)*) => {
        $crate::__program_write! { $m let [] $x [$($k)?] ($e) }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    // Leaving.
    ($m:ident $tl:tt return $e:expr; $($r:tt)*) => {
        $crate::__program_write! { $m ret ($e) }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt return $e:expr) => {
        $crate::__program_write! { $m ret ($e) }
    };
    ($m:ident $tl:tt break; $($r:tt)*) => {
        $crate::__program_write! { $m break }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt continue; $($r:tt)*) => {
        $crate::__program_write! { $m continue }
        $crate::__program_statement! { $m $tl $($r)* }
    };

    // What the language has not: told once.
    (staged $tl:tt match $e:tt $($r:tt)*) => { $crate::__program_write! { staged no_match ($e) } };
    (native $tl:tt match $($r:tt)*) => { loop {} };
    (native $tl:tt loop $($r:tt)*) => { loop {} };
    (native $tl:tt return; $($r:tt)*) => { loop {} };
    (native $tl:tt let $x:tt $(: $k:ty)? ; $($r:tt)*) => { loop {} };
    ($m:ident $tl:tt return; $($r:tt)*) => {
        ::core::compile_error!("program!: `return` needs a value: `return x;`");
    };
    ($m:ident $tl:tt match $e:tt $($r:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "program!: there is no `match`: write `if … { … } else if … { … } else { … }` in place of `match ",
            ::core::stringify!($e), " …`"
        ));
    };
    ($m:ident $tl:tt loop $($r:tt)*) => {
        ::core::compile_error!("program!: there is no `loop`: write `while true { … }`");
    };
    ($m:ident $tl:tt let $x:tt $(: $k:ty)? ; $($r:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "program!: `let ", ::core::stringify!($x), ";` has no value: write `let ", ::core::stringify!($x), " = …;`"
        ));
    };

    // Assignment.
    ($m:ident $tl:tt $x:tt $(. $f:tt)* = if $($r:tt)*) => {
        $crate::__program_head! { ($m $tl set_if [$x $(. $f)*] []) $($r)* }
    };
    ($m:ident $tl:tt $x:tt $(. $f:tt)* = [$e:expr; $n:expr]; $($r:tt)*) => {
        $crate::__program_write! { $m set [$x $(. $f)*] ($crate::__program_write!($m fill ($e) ($n))) }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt $x:tt $(. $f:tt)* = $e:expr; $($r:tt)*) => {
        $crate::__program_write! { $m set [$x $(. $f)*] ($e) }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt $x:tt $(. $f:tt)* [$i:expr] = $e:expr; $($r:tt)*) => {
        $crate::__program_write! { $m element [$x $(. $f)*] ($i) ($e) }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt $x:tt $(. $f:tt)* [$i:expr] += $e:expr; $($r:tt)*) => {
        $crate::__program_write! { $m element [$x $(. $f)*] ($i) (+= Add) ($e) }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt $x:tt $(. $f:tt)* [$i:expr] -= $e:expr; $($r:tt)*) => {
        $crate::__program_write! { $m element [$x $(. $f)*] ($i) (-= Sub) ($e) }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt $x:tt $(. $f:tt)* [$i:expr] *= $e:expr; $($r:tt)*) => {
        $crate::__program_write! { $m element [$x $(. $f)*] ($i) (*= Mul) ($e) }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt $x:tt $(. $f:tt)* [$i:expr] /= $e:expr; $($r:tt)*) => {
        $crate::__program_write! { $m element [$x $(. $f)*] ($i) (/= Div) ($e) }
        $crate::__program_statement! { $m $tl $($r)* }
    };

    // Everything else is an expression; `x += e` is one of Rust.
    ($m:ident $tl:tt $e:expr; $($r:tt)*) => {
        $e;
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident [none] $e:expr) => { $e; };
    ($m:ident [ret] [$e:expr; $n:expr]) => {
        $crate::__program_write! { $m ret ($crate::__program_write!($m fill ($e) ($n))) }
    };
    ($m:ident [ret] $e:expr) => { $crate::__program_write! { $m ret ($e) } };
    ($m:ident [bars] $e:expr) => { $crate::__program_write! { $m ret ($e) } };
    ($m:ident [give $slot:ident] $e:expr) => { $crate::__program_write! { $m give $slot ($e) } };
    ($m:ident [fit $slot:ident] $e:expr) => { $crate::__program_write! { $m fit $slot ($e) } };
    (native $tl:tt $word:tt $($r:tt)*) => { loop {} };
    ($m:ident $tl:tt $word:tt $($r:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "program!: `", ::core::stringify!($word $($r)*), "` is no statement; is a `;` missing?"
        ));
    };
}

/// `let (a, mut b) = e;`: the names one by one.
#[doc(hidden)]
#[macro_export]
macro_rules! __program_tuple {
    ($m:ident [$($done:tt)*] $e:tt mut $x:tt , $($r:tt)*) => {
        $crate::__program_tuple! { $m [$($done)* ([mut] $x)] $e $($r)* }
    };
    ($m:ident [$($done:tt)*] $e:tt $x:tt , $($r:tt)*) => {
        $crate::__program_tuple! { $m [$($done)* ([] $x)] $e $($r)* }
    };
    ($m:ident [$(($mut:tt $x:tt))*] $e:tt $(,)?) => {
        $crate::__program_write! { $m tuple [$($x)*] $e }
        $( $crate::__program_write! { $m let $mut $x [] ($x) } )*
    };
    (native $done:tt $e:tt $($r:tt)*) => { loop {} };
    ($m:ident $done:tt $e:tt $($r:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "program!: expected names in `let (a, b) = …;`, not `", ::core::stringify!($($r)*), "`"
        ));
    };
}

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

/// What a statement becomes.
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
    (native item ($e:expr)) => { __p::native::Bind::<S>::bind($e) };
    (native set [$($x:tt)*] ($e:expr)) => { $($x)* = __p::native::fit($e); };
    (native element [$($x:tt)*] ($i:expr) ($e:expr)) => {
        {
            let value = __p::native::fit($e);
            let i: i64 = __p::native::fit($i);
            $($x)*[i] = value;
        }
    };
    (native element [$($x:tt)*] ($i:expr) ($op:tt $Op:ident) ($e:expr)) => {
        {
            let value = $e;
            let i: i64 = __p::native::fit($i);
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
    (staged item ($e:expr)) => { __p::staged::bind($e) };
    (staged no_match ($e:expr)) => { __p::staged::there_is_no_match($e); };
    // The place as an expression: so an error about it stands at the user's.
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
            $x.__assign_element($i, ::core::option::Option::Some(__p::Operator::$Op), value);
        }
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
    (@or $m:ident $done:tt [$($a:tt)*] $x:tt $($r:tt)*) => {
        $crate::__program_condition!(@or $m $done [$($a)* $x] $($r)*)
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
    (@and $m:ident $done:tt [$($a:tt)*] $x:tt $($r:tt)*) => {
        $crate::__program_condition!(@and $m $done [$($a)* $x] $($r)*)
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
    (@compare $m:ident [$($a:tt)*] $x:tt $($r:tt)*) => {
        $crate::__program_condition!(@compare $m [$($a)* $x] $($r)*)
    };
    (@compare $m:ident [($($a:tt)+)]) => { $crate::__program_condition!($m $($a)+) };
    (@compare native [! $($a:tt)+]) => { !$crate::__program_condition!(@compare native [$($a)+]) };
    (@compare staged [! $($a:tt)+]) => { !$crate::__program_condition!(@compare staged [$($a)+]) };
    (@compare $m:ident [$($a:tt)+]) => { $crate::__program_condition!(@truth $m ($($a)+)) };
    (@truth $m:ident ($a:expr)) => { __p::$m::truth($a) };
    (@with $m:ident $op:ident ($a:expr) ($b:expr)) => { __p::$m::compare(__p::Compare::$op, $a, $b) };
}
