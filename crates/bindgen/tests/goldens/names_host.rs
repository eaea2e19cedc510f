// Made by `riverrun bindgen` from names.json: change that instead.

/// The guest's `Linker`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct Linker {
    /// `int type`.
    pub r#type: i32,
    /// `int self`.
    pub self_: i32,
    /// `int new`.
    pub new: i32,
}

riverrun::by_value!(Linker = [(0, riverrun::Scalar::I32), (4, riverrun::Scalar::I32), (8, riverrun::Scalar::I32)]);

/// The guest's `Class`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct Class {
    /// `int x`.
    pub x: i32,
}

riverrun::by_value!(Class = [(0, riverrun::Scalar::I32)]);

/// The guest's `Result`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct Result_ {
    /// `float x`.
    pub x: f32,
}

riverrun::by_value!(Result_ = [(0, riverrun::Scalar::F32)]);

/// The guest's `T`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct T_ {
    /// `int x`.
    pub x: i32,
}

riverrun::by_value!(T_ = [(0, riverrun::Scalar::I32)]);

/// The guest's `Api`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct Api_ {
    /// `char a`.
    pub a: u8,
    /// Padding.
    pub padding_1_: [u8; 3],
    /// `int padding_1`.
    pub padding_1: i32,
}

riverrun::by_value!(Api_ = [(0, riverrun::Scalar::U8), (4, riverrun::Scalar::I32)]);

/// The guest's `Option`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct Option_ {
    /// `int x`.
    pub x: i32,
}

riverrun::by_value!(Option_ = [(0, riverrun::Scalar::I32)]);

/// The guest's `struct api`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct api {
    /// `struct api *api`.
    pub api: u64,
    /// `int std`.
    pub std: i32,
    /// `int core`.
    pub core: i32,
    /// `int link`.
    pub link: i32,
    /// Padding.
    pub padding_20: [u8; 4],
}

/// The guest's `struct linker`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct linker {
    /// `double x`.
    pub x: f64,
}

riverrun::by_value!(linker = [(0, riverrun::Scalar::F64)]);

/// The guest's `struct a0`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct a0 {
    /// `float x`.
    pub x: f32,
    /// `int class`.
    pub class: i32,
}

riverrun::by_value!(a0 = [(0, riverrun::Scalar::F32), (4, riverrun::Scalar::I32)]);

/// The guest's `struct caller`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct caller {
    /// `short x[3]`.
    pub x: [i16; 3],
}

riverrun::by_value!(caller = [(0, riverrun::Scalar::I16), (2, riverrun::Scalar::I16), (4, riverrun::Scalar::I16)]);

/// The guest's `struct link`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct link {
    /// `int T`.
    pub T: i32,
}

riverrun::by_value!(link = [(0, riverrun::Scalar::I32)]);

/// The guest's `struct core`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct core_ {
    /// `int Api`.
    pub Api: i32,
}

riverrun::by_value!(core_ = [(0, riverrun::Scalar::I32)]);

/// The guest's `struct outer`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct outer {
    /// `struct core core`.
    pub core: core_,
    /// `struct a0 a0`.
    pub a0: a0,
    /// `struct core others[2]`.
    pub others: [core_; 2],
}

/// The guest's `struct u8`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct u8_ {
    /// `int u8`.
    pub u8: i32,
}

riverrun::by_value!(u8_ = [(0, riverrun::Scalar::I32)]);

/// The guest's `struct Sized`.
#[derive(Debug)]
pub enum Sized_ {}

/// Calls that guests can make. The type that it is implemented for is the data of the machines.
#[allow(clippy::too_many_arguments)]
pub trait Api: Sized + 'static {
    /// `Name::api`: `Linker sys_api(struct api *api, Class linker)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn api(caller: riverrun::Caller<'_, Self>, api: riverrun::Ptr<api>, linker: Class) -> Result<Linker, riverrun::HostError>;
    /// `Name::linker`: `Class sys_linker(Linker linker, Linker caller)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn linker(caller: riverrun::Caller<'_, Self>, linker: Linker, caller_: Linker) -> Result<Class, riverrun::HostError>;
    /// `Name::caller`: `Result sys_caller(Result caller, const Result *results, size_t count)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn caller(caller: riverrun::Caller<'_, Self>, caller_: Result_, results: riverrun::Slice<Result_>) -> Result<Result_, riverrun::HostError>;
    /// `Name::a0`: `T *sys_a0(T a0, Api a1, Option *a2)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn a0(caller: riverrun::Caller<'_, Self>, a0: T_, a1: Api_, a2: riverrun::Ptr<Option_>) -> Result<riverrun::Ptr<T_>, riverrun::HostError>;
    /// `Name::Class`: `struct a0 sys_Class(struct a0 result, struct linker result_a0)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn Class(caller: riverrun::Caller<'_, Self>, result: a0, result_a0: linker) -> Result<a0, riverrun::HostError>;
    /// `Name::Linker`: `int sys_Linker(int Linker_, Class part, int result_fa0)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn Linker(caller: riverrun::Caller<'_, Self>, Linker_: i32, part: Class, result_fa0: i32) -> Result<i32, riverrun::HostError>;
    /// `Name::link`: `struct link sys_link(struct core core, struct caller std, struct u8 u8)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn link(caller: riverrun::Caller<'_, Self>, core: core_, std: caller, u8: u8_) -> Result<link, riverrun::HostError>;
    /// `Name::Result`: `float sys_Result(struct Sized *arg0_, int arg0, int arg2)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn Result(caller: riverrun::Caller<'_, Self>, arg0_: riverrun::Ptr<Sized_>, arg0: i32, arg2: i32) -> Result<f32, riverrun::HostError>;
    /// `Name::std`: `bool sys_std(const char *text, void (*link)(int))`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn std(caller: riverrun::Caller<'_, Self>, text: riverrun::Str, link: riverrun::Ptr<()>) -> Result<bool, riverrun::HostError>;
    /// `Name::self`: `void sys_self(int self, int type, int this_)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn self_(caller: riverrun::Caller<'_, Self>, self_: i32, r#type: i32, this_: i32) -> Result<(), riverrun::HostError>;
    /// `Name::leaf`: `int sys_leaf(int *data, const int *memory, int host, int caller)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn leaf(&mut self, memory: &mut riverrun::Memory, data: riverrun::Ptr<[i32; 2]>, memory_: riverrun::Ptr<[i32; 2]>, host: i32, caller_: i32) -> Result<i32, riverrun::HostError>;
    /// `Name::match`: `int match(int match)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn r#match(caller: riverrun::Caller<'_, Self>, r#match: i32) -> Result<i32, riverrun::HostError>;
    /// `Name::f`: `int mpl(int a, int b, int c, int d, int e, int f, int g, int h, int i)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn mpl(caller: riverrun::Caller<'_, Self>, a: i32, b: i32, c: i32, d: i32, e: i32, f: i32, g: i32, h: i32, i: i32) -> Result<i32, riverrun::HostError>;
    /// `Name::words`: `void sys_words(int concept_, int requires_, int char8_t_, int co_await_, int None, int Some, int Ok)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn words(caller: riverrun::Caller<'_, Self>, concept_: i32, requires_: i32, char8_t_: i32, co_await_: i32, None_: i32, Some_: i32, Ok_: i32) -> Result<(), riverrun::HostError>;
    /// `Name::Err`: `int Err(int Err, const int *NULL_, size_t nullptr_)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn Err(caller: riverrun::Caller<'_, Self>, Err_: i32, NULL_: riverrun::Slice<i32>) -> Result<i32, riverrun::HostError>;
    /// `Name::linux`: `int sys_linux(int linux_, int unix_, int typeof_unqual_)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn linux(caller: riverrun::Caller<'_, Self>, linux_: i32, unix_: i32, typeof_unqual_: i32) -> Result<i32, riverrun::HostError>;
}

/// Calls that guests can make of servers. The type that it is implemented for is the data of the machines.
pub trait ServerApi: Sized + 'static {
    /// `Name::class`: `void sys_class(int data, int memory)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn class(caller: riverrun::Caller<'_, Self>, data: i32, memory_: i32) -> Result<(), riverrun::HostError>;
}

/// Registers the calls.
///
/// # Errors
/// If the linker has a function of one of the names already.
pub fn link_client<T: Api>(linker: &mut riverrun::Linker<T>) -> Result<(), riverrun::Error> {
    linker.func("Name::api", |caller: riverrun::Caller<'_, T>, api: riverrun::Ptr<api>, linker: Class| {
        T::api(caller, api, linker)
    })?;
    linker.func("Name::linker", |caller: riverrun::Caller<'_, T>, linker: Linker, caller_: Linker| {
        T::linker(caller, linker, caller_)
    })?;
    linker.func("Name::caller", |caller: riverrun::Caller<'_, T>, caller_: Result_, results: riverrun::Slice<Result_>| {
        T::caller(caller, caller_, results)
    })?;
    linker.func("Name::a0", |caller: riverrun::Caller<'_, T>, a0: T_, a1: Api_, a2: riverrun::Ptr<Option_>| {
        T::a0(caller, a0, a1, a2)
    })?;
    linker.func("Name::Class", |caller: riverrun::Caller<'_, T>, result: a0, result_a0: linker| {
        T::Class(caller, result, result_a0)
    })?;
    linker.func("Name::Linker", |caller: riverrun::Caller<'_, T>, Linker_: i32, part: Class, result_fa0: i32| {
        T::Linker(caller, Linker_, part, result_fa0)
    })?;
    linker.func("Name::link", |caller: riverrun::Caller<'_, T>, core: core_, std: caller, u8: u8_| {
        T::link(caller, core, std, u8)
    })?;
    linker.func("Name::Result", |caller: riverrun::Caller<'_, T>, arg0_: riverrun::Ptr<Sized_>, arg0: i32, arg2: i32| {
        T::Result(caller, arg0_, arg0, arg2)
    })?;
    linker.func("Name::std", |caller: riverrun::Caller<'_, T>, text: riverrun::Str, link: riverrun::Ptr<()>| {
        T::std(caller, text, link)
    })?;
    linker.func("Name::self", |caller: riverrun::Caller<'_, T>, self_: i32, r#type: i32, this_: i32| {
        T::self_(caller, self_, r#type, this_)
    })?;
    linker.func("Name::class", |_: i32, _: i32| {
        Err::<(), riverrun::HostError>("Name::class is a call that only servers have".into())
    })?;
    linker.func("Name::leaf", |mut caller: riverrun::Caller<'_, T>, data: riverrun::Ptr<[i32; 2]>, memory_: riverrun::Ptr<[i32; 2]>, host: i32, caller_: i32| {
        let (riverrun_data, riverrun_memory) = caller.split();
        T::leaf(riverrun_data, riverrun_memory, data, memory_, host, caller_)
    })?;
    linker.func("Name::match", |caller: riverrun::Caller<'_, T>, r#match: i32| {
        T::r#match(caller, r#match)
    })?;
    linker.func("Name::f", |caller: riverrun::Caller<'_, T>, a: i32, b: i32, c: i32, d: i32, e: i32, f: i32, g: i32, h: i32, i: i32| {
        T::mpl(caller, a, b, c, d, e, f, g, h, i)
    })?;
    linker.func("Name::words", |caller: riverrun::Caller<'_, T>, concept_: i32, requires_: i32, char8_t_: i32, co_await_: i32, None_: i32, Some_: i32, Ok_: i32| {
        T::words(caller, concept_, requires_, char8_t_, co_await_, None_, Some_, Ok_)
    })?;
    linker.func("Name::Err", |caller: riverrun::Caller<'_, T>, Err_: i32, NULL_: riverrun::Slice<i32>| {
        T::Err(caller, Err_, NULL_)
    })?;
    linker.func("Name::linux", |caller: riverrun::Caller<'_, T>, linux_: i32, unix_: i32, typeof_unqual_: i32| {
        T::linux(caller, linux_, unix_, typeof_unqual_)
    })?;
    Ok(())
}

/// Registers the calls.
///
/// # Errors
/// If the linker has a function of one of the names already.
pub fn link_server<T: Api + ServerApi>(linker: &mut riverrun::Linker<T>) -> Result<(), riverrun::Error> {
    linker.func("Name::api", |caller: riverrun::Caller<'_, T>, api: riverrun::Ptr<api>, linker: Class| {
        T::api(caller, api, linker)
    })?;
    linker.func("Name::linker", |caller: riverrun::Caller<'_, T>, linker: Linker, caller_: Linker| {
        T::linker(caller, linker, caller_)
    })?;
    linker.func("Name::caller", |caller: riverrun::Caller<'_, T>, caller_: Result_, results: riverrun::Slice<Result_>| {
        T::caller(caller, caller_, results)
    })?;
    linker.func("Name::a0", |caller: riverrun::Caller<'_, T>, a0: T_, a1: Api_, a2: riverrun::Ptr<Option_>| {
        T::a0(caller, a0, a1, a2)
    })?;
    linker.func("Name::Class", |caller: riverrun::Caller<'_, T>, result: a0, result_a0: linker| {
        T::Class(caller, result, result_a0)
    })?;
    linker.func("Name::Linker", |caller: riverrun::Caller<'_, T>, Linker_: i32, part: Class, result_fa0: i32| {
        T::Linker(caller, Linker_, part, result_fa0)
    })?;
    linker.func("Name::link", |caller: riverrun::Caller<'_, T>, core: core_, std: caller, u8: u8_| {
        T::link(caller, core, std, u8)
    })?;
    linker.func("Name::Result", |caller: riverrun::Caller<'_, T>, arg0_: riverrun::Ptr<Sized_>, arg0: i32, arg2: i32| {
        T::Result(caller, arg0_, arg0, arg2)
    })?;
    linker.func("Name::std", |caller: riverrun::Caller<'_, T>, text: riverrun::Str, link: riverrun::Ptr<()>| {
        T::std(caller, text, link)
    })?;
    linker.func("Name::self", |caller: riverrun::Caller<'_, T>, self_: i32, r#type: i32, this_: i32| {
        T::self_(caller, self_, r#type, this_)
    })?;
    linker.func("Name::class", |caller: riverrun::Caller<'_, T>, data: i32, memory_: i32| {
        T::class(caller, data, memory_)
    })?;
    linker.func("Name::leaf", |mut caller: riverrun::Caller<'_, T>, data: riverrun::Ptr<[i32; 2]>, memory_: riverrun::Ptr<[i32; 2]>, host: i32, caller_: i32| {
        let (riverrun_data, riverrun_memory) = caller.split();
        T::leaf(riverrun_data, riverrun_memory, data, memory_, host, caller_)
    })?;
    linker.func("Name::match", |caller: riverrun::Caller<'_, T>, r#match: i32| {
        T::r#match(caller, r#match)
    })?;
    linker.func("Name::f", |caller: riverrun::Caller<'_, T>, a: i32, b: i32, c: i32, d: i32, e: i32, f: i32, g: i32, h: i32, i: i32| {
        T::mpl(caller, a, b, c, d, e, f, g, h, i)
    })?;
    linker.func("Name::words", |caller: riverrun::Caller<'_, T>, concept_: i32, requires_: i32, char8_t_: i32, co_await_: i32, None_: i32, Some_: i32, Ok_: i32| {
        T::words(caller, concept_, requires_, char8_t_, co_await_, None_, Some_, Ok_)
    })?;
    linker.func("Name::Err", |caller: riverrun::Caller<'_, T>, Err_: i32, NULL_: riverrun::Slice<i32>| {
        T::Err(caller, Err_, NULL_)
    })?;
    linker.func("Name::linux", |caller: riverrun::Caller<'_, T>, linux_: i32, unix_: i32, typeof_unqual_: i32| {
        T::linux(caller, linux_, unix_, typeof_unqual_)
    })?;
    Ok(())
}

