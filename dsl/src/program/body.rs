//! `program!`: statements.
//!
//! Both bodies are read by the same rules; `$m` is the world (`native` or `staged`), `$tl` what
//! happens to the value at the end: `[ret]` returns it, `[give slot]` and `[fit slot]` hand it to
//! an `if` with a value, `[bars]` makes cotangents of it, `[none]` drops it. What a statement
//! becomes is in `write`, what has blocks in `blocks`.
//!
//! A body is cut at the next `;` after every 48 tokens, and the pieces are expanded one beside the
//! other, so the depth of macro calls, which rustc limits to 128, does not grow with every
//! statement.

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

    // `let`. Names are `tt`: an `ident` would point to the macro, and so would errors about it.
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
    ($m:ident $tl:tt let mut $x:tt $(: $k:ty)? = [[$e:expr; $n:expr]; $o:expr]; $($r:tt)*) => {
        $crate::__program_write! { $m let [mut] $x [$($k)?] ($crate::__program_write!($m rows ($e) ($n) ($o))) }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt let mut $x:tt $(: $k:ty)? = [$e:expr; $n:expr]; $($r:tt)*) => {
        $crate::__program_write! { $m let [mut] $x [$($k)?] ($crate::__program_write!($m fill ($e) ($n))) }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt let $x:tt $(: $k:ty)? = [[$e:expr; $n:expr]; $o:expr]; $($r:tt)*) => {
        $crate::__program_write! { $m let [] $x [$($k)?] ($crate::__program_write!($m rows ($e) ($n) ($o))) }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt let $x:tt $(: $k:ty)? = [$e:expr; $n:expr]; $($r:tt)*) => {
        $crate::__program_write! { $m let [] $x [$($k)?] ($crate::__program_write!($m fill ($e) ($n))) }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt let mut $x:tt = [$([$($e:expr),+ $(,)?]),+ $(,)?]; $($r:tt)*) => {
        $crate::__program_write! {
            $m let [mut] $x [] ([$([$($crate::__program_write!($m item ($e))),+]),+])
        }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt let mut $x:tt = [$($e:expr),+ $(,)?]; $($r:tt)*) => {
        $crate::__program_write! { $m let [mut] $x [] ([$($crate::__program_write!($m item ($e))),+]) }
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident $tl:tt let $x:tt = [$([$($e:expr),+ $(,)?]),+ $(,)?]; $($r:tt)*) => {
        $crate::__program_write! {
            $m let [] $x [] ([$([$($crate::__program_write!($m item ($e))),+]),+])
        }
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

    // Constructs that the language lacks: reported once.
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
    ($m:ident $tl:tt $x:tt $(. $f:tt)* = [[$e:expr; $n:expr]; $o:expr]; $($r:tt)*) => {
        $crate::__program_write! { $m set [$x $(. $f)*] ($crate::__program_write!($m rows ($e) ($n) ($o))) }
        $crate::__program_statement! { $m $tl $($r)* }
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

    // The last statement of a block needs no `;`.
    ($m:ident [none] break) => { $crate::__program_write! { $m break } };
    ($m:ident [none] continue) => { $crate::__program_write! { $m continue } };
    ($m:ident [none] $x:tt $(. $f:tt)* = $e:expr) => { $crate::__program_write! { $m set [$x $(. $f)*] ($e) } };
    ($m:ident [none] $x:tt $(. $f:tt)* [$i:expr] = $e:expr) => {
        $crate::__program_write! { $m element [$x $(. $f)*] ($i) ($e) }
    };
    ($m:ident [none] $x:tt $(. $f:tt)* [$i:expr] += $e:expr) => {
        $crate::__program_write! { $m element [$x $(. $f)*] ($i) (+= Add) ($e) }
    };
    ($m:ident [none] $x:tt $(. $f:tt)* [$i:expr] -= $e:expr) => {
        $crate::__program_write! { $m element [$x $(. $f)*] ($i) (-= Sub) ($e) }
    };
    ($m:ident [none] $x:tt $(. $f:tt)* [$i:expr] *= $e:expr) => {
        $crate::__program_write! { $m element [$x $(. $f)*] ($i) (*= Mul) ($e) }
    };
    ($m:ident [none] $x:tt $(. $f:tt)* [$i:expr] /= $e:expr) => {
        $crate::__program_write! { $m element [$x $(. $f)*] ($i) (/= Div) ($e) }
    };

    // Everything else is an expression; `x += e` is one of Rust.
    ($m:ident $tl:tt $e:expr; $($r:tt)*) => {
        $e;
        $crate::__program_statement! { $m $tl $($r)* }
    };
    ($m:ident [none] $e:expr) => { $e; };
    ($m:ident [ret] [[$e:expr; $n:expr]; $o:expr]) => {
        $crate::__program_write! { $m ret ($crate::__program_write!($m rows ($e) ($n) ($o))) }
    };
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
