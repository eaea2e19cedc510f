// Made by `riverrun bindgen` from game.json: change that instead.

/// The guest's `TestData`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct TestData {
    /// `int a`.
    pub a: i32,
    /// `int b`.
    pub b: i32,
    /// `int c`.
    pub c: i32,
    /// `float x`.
    pub x: f32,
    /// `float y`.
    pub y: f32,
    /// `float z`.
    pub z: f32,
}

/// The guest's `Point`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct Point {
    /// `float x`.
    pub x: f32,
    /// `float y`.
    pub y: f32,
}

riverrun::by_value!(Point = [(0, riverrun::Scalar::F32), (4, riverrun::Scalar::F32)]);

/// The guest's `Handle`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct Handle {
    /// `int8_t kind`.
    pub kind: i8,
    /// Padding.
    pub padding_1: [u8; 7],
    /// `int64_t id`.
    pub id: i64,
}

riverrun::by_value!(Handle = [(0, riverrun::Scalar::I8), (8, riverrun::Scalar::I64)]);

/// The guest's `Mixed`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct Mixed {
    /// `double weight`.
    pub weight: f64,
    /// `short count`.
    pub count: i16,
    /// Padding.
    pub padding_10: [u8; 6],
}

riverrun::by_value!(Mixed = [(0, riverrun::Scalar::F64), (8, riverrun::Scalar::I16)]);

/// The guest's `struct node`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct node {
    /// `struct node *next`.
    pub next: u64,
    /// `float at[3]`.
    pub at: [f32; 3],
    /// Padding.
    pub padding_20: [u8; 4],
}

/// The guest's `struct Texture`.
#[derive(Debug)]
pub enum Texture {}

/// Calls that guests can make. The type that it is implemented for is the data of the machines.
#[allow(clippy::too_many_arguments)]
pub trait Api: Sized + 'static {
    /// `Game::set_title`: `void sys_set_title(const char *title)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn set_title(caller: riverrun::Caller<'_, Self>, title: riverrun::Str) -> Result<(), riverrun::HostError>;
    /// `Game::exit`: `void sys_game_exit(void)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn game_exit(caller: riverrun::Caller<'_, Self>) -> Result<(), riverrun::HostError>;
    /// `Timer::stop`: `void sys_timer_stop(int arg0)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn timer_stop(caller: riverrun::Caller<'_, Self>, arg0: i32) -> Result<(), riverrun::HostError>;
    /// `Timer::periodic`: `int sys_timer_periodic(float arg0, float arg1, timer_callback arg2, void *arg3, size_t arg4)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn timer_periodic(caller: riverrun::Caller<'_, Self>, arg0: f32, arg1: f32, arg2: riverrun::Ptr<()>, arg3: riverrun::Ptr<u8>, arg4: u64) -> Result<i32, riverrun::HostError>;
    /// `Debug::breakpoint`: `void sys_breakpoint(uint16_t arg0, const char *arg1)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn breakpoint(caller: riverrun::Caller<'_, Self>, arg0: u16, arg1: riverrun::Str) -> Result<(), riverrun::HostError>;
    /// `Debug::is_debug`: `int sys_is_debug(void)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn is_debug(caller: riverrun::Caller<'_, Self>) -> Result<i32, riverrun::HostError>;
    /// `World::texture`: `Texture *sys_texture(struct node *arg0, void (*done)(Texture *, int))`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn texture(caller: riverrun::Caller<'_, Self>, arg0: riverrun::Ptr<node>, done: riverrun::Ptr<()>) -> Result<riverrun::Ptr<Texture>, riverrun::HostError>;
    /// `Point::length`: `float sys_point_length(Point arg0)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn point_length(&mut self, memory: &mut riverrun::Memory, arg0: Point) -> Result<f32, riverrun::HostError>;
    /// `Point::add`: `Point sys_point_add(Point arg0, Point arg1)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn point_add(caller: riverrun::Caller<'_, Self>, arg0: Point, arg1: Point) -> Result<Point, riverrun::HostError>;
    /// `Handle::next`: `Handle sys_handle_next(Handle arg0)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn handle_next(caller: riverrun::Caller<'_, Self>, arg0: Handle) -> Result<Handle, riverrun::HostError>;
    /// `Mixed::scale`: `Mixed sys_mixed_scale(Mixed m, double by)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn mixed_scale(caller: riverrun::Caller<'_, Self>, m: Mixed, by: f64) -> Result<Mixed, riverrun::HostError>;
    /// `Matrix::multiply`: `void sys_matrix_multiply(float (*m)[4], const float (*by)[4])`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn matrix_multiply(&mut self, memory: &mut riverrun::Memory, m: riverrun::Ptr<[[f32; 4]; 4]>, by: riverrun::Ptr<[[f32; 4]; 4]>) -> Result<(), riverrun::HostError>;
    /// `Matrix::is_identity`: `bool sys_matrix_is_identity(const float *m)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn matrix_is_identity(&mut self, memory: &mut riverrun::Memory, m: riverrun::Ptr<[f32; 16]>) -> Result<bool, riverrun::HostError>;
    /// `sum`: `float sys_sum(const float *values, size_t count)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn sum(caller: riverrun::Caller<'_, Self>, values: riverrun::Slice<f32>) -> Result<f32, riverrun::HostError>;
    /// `many`: `int64_t sys_many(int arg0, int arg1, int arg2, int arg3, int arg4)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn many(caller: riverrun::Caller<'_, Self>, arg0: i32, arg1: i32, arg2: i32, arg3: i32, arg4: i32) -> Result<i64, riverrun::HostError>;
    /// `stack`: `long sys_stack(char a, short b, long c, long d, long e, long f, long g, long h, long i, int j)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn stack(caller: riverrun::Caller<'_, Self>, a: u8, b: i16, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64, i: i64, j: i32) -> Result<i64, riverrun::HostError>;
    /// `eight`: `int sys_eight(int arg0, int arg1, int arg2, int arg3, int arg4, int arg5, int arg6, int arg7)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn eight(caller: riverrun::Caller<'_, Self>, arg0: i32, arg1: i32, arg2: i32, arg3: i32, arg4: i32, arg5: i32, arg6: i32, arg7: i32) -> Result<i32, riverrun::HostError>;
    /// `floats`: `double sys_floats(float arg0, double arg1, float arg2, float arg3, float arg4, float arg5, float arg6, float arg7, float arg8, Point arg9)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn floats(caller: riverrun::Caller<'_, Self>, arg0: f32, arg1: f64, arg2: f32, arg3: f32, arg4: f32, arg5: f32, arg6: f32, arg7: f32, arg8: f32, arg9: Point) -> Result<f64, riverrun::HostError>;
    /// `narrow`: `int8_t sys_narrow(int8_t arg0, uint8_t arg1, int16_t arg2, bool arg3, char arg4)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn narrow(caller: riverrun::Caller<'_, Self>, arg0: i8, arg1: u8, arg2: i16, arg3: bool, arg4: u8) -> Result<i8, riverrun::HostError>;
    /// `narrowed`: `float sys_narrowed(double arg0)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn narrowed(caller: riverrun::Caller<'_, Self>, arg0: f64) -> Result<f32, riverrun::HostError>;
    /// `odd {name} 100%|$x`: `void sys_odd(void)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn odd(caller: riverrun::Caller<'_, Self>) -> Result<(), riverrun::HostError>;
    /// `empty`: `void sys_empty(void)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn empty(caller: riverrun::Caller<'_, Self>) -> Result<(), riverrun::HostError>;
}

/// Calls that guests can make of clients. The type that it is implemented for is the data of the machines.
pub trait ClientApi: Sized + 'static {
    /// `GUI::label`: `unsigned sys_gui_label(unsigned arg0, const char *arg1)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn gui_label(caller: riverrun::Caller<'_, Self>, arg0: u32, arg1: riverrun::Str) -> Result<u32, riverrun::HostError>;
}

/// Calls that guests can make of servers. The type that it is implemented for is the data of the machines.
pub trait ServerApi: Sized + 'static {
    /// `World::save`: `bool sys_world_save(Size class_, const TestData *arg1)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn world_save(caller: riverrun::Caller<'_, Self>, class_: u32, arg1: riverrun::Ptr<TestData>) -> Result<bool, riverrun::HostError>;
}

/// Registers the calls.
///
/// # Errors
/// If the linker has a function of one of the names already.
pub fn link_client<T: Api + ClientApi>(linker: &mut riverrun::Linker<T>) -> Result<(), riverrun::Error> {
    linker.func("Game::set_title", |caller: riverrun::Caller<'_, T>, title: riverrun::Str| {
        caller.only_while_initializing()?;
        T::set_title(caller, title)
    })?;
    linker.func("Game::exit", |caller: riverrun::Caller<'_, T>| {
        T::game_exit(caller)
    })?;
    linker.func("Timer::stop", |caller: riverrun::Caller<'_, T>, arg0: i32| {
        T::timer_stop(caller, arg0)
    })?;
    linker.func("Timer::periodic", |caller: riverrun::Caller<'_, T>, arg0: f32, arg1: f32, arg2: riverrun::Ptr<()>, arg3: riverrun::Ptr<u8>, arg4: u64| {
        T::timer_periodic(caller, arg0, arg1, arg2, arg3, arg4)
    })?;
    linker.func("Debug::breakpoint", |caller: riverrun::Caller<'_, T>, arg0: u16, arg1: riverrun::Str| {
        T::breakpoint(caller, arg0, arg1)
    })?;
    linker.func("Debug::is_debug", |caller: riverrun::Caller<'_, T>| {
        T::is_debug(caller)
    })?;
    linker.func("GUI::label", |caller: riverrun::Caller<'_, T>, arg0: u32, arg1: riverrun::Str| {
        T::gui_label(caller, arg0, arg1)
    })?;
    linker.func("World::save", |_: u32, _: riverrun::Ptr<TestData>| {
        Err::<bool, riverrun::HostError>("World::save is a call that only servers have".into())
    })?;
    linker.func("World::texture", |caller: riverrun::Caller<'_, T>, arg0: riverrun::Ptr<node>, done: riverrun::Ptr<()>| {
        T::texture(caller, arg0, done)
    })?;
    linker.func("Point::length", |mut caller: riverrun::Caller<'_, T>, arg0: Point| {
        let (riverrun_data, riverrun_memory) = caller.split();
        T::point_length(riverrun_data, riverrun_memory, arg0)
    })?;
    linker.func("Point::add", |caller: riverrun::Caller<'_, T>, arg0: Point, arg1: Point| {
        T::point_add(caller, arg0, arg1)
    })?;
    linker.func("Handle::next", |caller: riverrun::Caller<'_, T>, arg0: Handle| {
        T::handle_next(caller, arg0)
    })?;
    linker.func("Mixed::scale", |caller: riverrun::Caller<'_, T>, m: Mixed, by: f64| {
        T::mixed_scale(caller, m, by)
    })?;
    linker.func("Matrix::multiply", |mut caller: riverrun::Caller<'_, T>, m: riverrun::Ptr<[[f32; 4]; 4]>, by: riverrun::Ptr<[[f32; 4]; 4]>| {
        let (riverrun_data, riverrun_memory) = caller.split();
        T::matrix_multiply(riverrun_data, riverrun_memory, m, by)
    })?;
    linker.func("Matrix::is_identity", |mut caller: riverrun::Caller<'_, T>, m: riverrun::Ptr<[f32; 16]>| {
        let (riverrun_data, riverrun_memory) = caller.split();
        T::matrix_is_identity(riverrun_data, riverrun_memory, m)
    })?;
    linker.func("sum", |caller: riverrun::Caller<'_, T>, values: riverrun::Slice<f32>| {
        T::sum(caller, values)
    })?;
    linker.func("many", |caller: riverrun::Caller<'_, T>, arg0: i32, arg1: i32, arg2: i32, arg3: i32, arg4: i32| {
        T::many(caller, arg0, arg1, arg2, arg3, arg4)
    })?;
    linker.func("stack", |caller: riverrun::Caller<'_, T>, a: u8, b: i16, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64, i: i64, j: i32| {
        T::stack(caller, a, b, c, d, e, f, g, h, i, j)
    })?;
    linker.func("eight", |caller: riverrun::Caller<'_, T>, arg0: i32, arg1: i32, arg2: i32, arg3: i32, arg4: i32, arg5: i32, arg6: i32, arg7: i32| {
        T::eight(caller, arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7)
    })?;
    linker.func("floats", |caller: riverrun::Caller<'_, T>, arg0: f32, arg1: f64, arg2: f32, arg3: f32, arg4: f32, arg5: f32, arg6: f32, arg7: f32, arg8: f32, arg9: Point| {
        T::floats(caller, arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8, arg9)
    })?;
    linker.func("narrow", |caller: riverrun::Caller<'_, T>, arg0: i8, arg1: u8, arg2: i16, arg3: bool, arg4: u8| {
        T::narrow(caller, arg0, arg1, arg2, arg3, arg4)
    })?;
    linker.func("narrowed", |caller: riverrun::Caller<'_, T>, arg0: f64| {
        T::narrowed(caller, arg0)
    })?;
    linker.func("odd {name} 100%|$x", |caller: riverrun::Caller<'_, T>| {
        T::odd(caller)
    })?;
    linker.func("empty", |caller: riverrun::Caller<'_, T>| {
        T::empty(caller)
    })?;
    Ok(())
}

/// Registers the calls.
///
/// # Errors
/// If the linker has a function of one of the names already.
pub fn link_server<T: Api + ServerApi>(linker: &mut riverrun::Linker<T>) -> Result<(), riverrun::Error> {
    linker.func("Game::set_title", |caller: riverrun::Caller<'_, T>, title: riverrun::Str| {
        caller.only_while_initializing()?;
        T::set_title(caller, title)
    })?;
    linker.func("Game::exit", |caller: riverrun::Caller<'_, T>| {
        T::game_exit(caller)
    })?;
    linker.func("Timer::stop", |caller: riverrun::Caller<'_, T>, arg0: i32| {
        T::timer_stop(caller, arg0)
    })?;
    linker.func("Timer::periodic", |caller: riverrun::Caller<'_, T>, arg0: f32, arg1: f32, arg2: riverrun::Ptr<()>, arg3: riverrun::Ptr<u8>, arg4: u64| {
        T::timer_periodic(caller, arg0, arg1, arg2, arg3, arg4)
    })?;
    linker.func("Debug::breakpoint", |caller: riverrun::Caller<'_, T>, arg0: u16, arg1: riverrun::Str| {
        T::breakpoint(caller, arg0, arg1)
    })?;
    linker.func("Debug::is_debug", |caller: riverrun::Caller<'_, T>| {
        T::is_debug(caller)
    })?;
    linker.func("GUI::label", |_: u32, _: riverrun::Str| {
        Err::<u32, riverrun::HostError>("GUI::label is a call that only clients have".into())
    })?;
    linker.func("World::save", |caller: riverrun::Caller<'_, T>, class_: u32, arg1: riverrun::Ptr<TestData>| {
        T::world_save(caller, class_, arg1)
    })?;
    linker.func("World::texture", |caller: riverrun::Caller<'_, T>, arg0: riverrun::Ptr<node>, done: riverrun::Ptr<()>| {
        T::texture(caller, arg0, done)
    })?;
    linker.func("Point::length", |mut caller: riverrun::Caller<'_, T>, arg0: Point| {
        let (riverrun_data, riverrun_memory) = caller.split();
        T::point_length(riverrun_data, riverrun_memory, arg0)
    })?;
    linker.func("Point::add", |caller: riverrun::Caller<'_, T>, arg0: Point, arg1: Point| {
        T::point_add(caller, arg0, arg1)
    })?;
    linker.func("Handle::next", |caller: riverrun::Caller<'_, T>, arg0: Handle| {
        T::handle_next(caller, arg0)
    })?;
    linker.func("Mixed::scale", |caller: riverrun::Caller<'_, T>, m: Mixed, by: f64| {
        T::mixed_scale(caller, m, by)
    })?;
    linker.func("Matrix::multiply", |mut caller: riverrun::Caller<'_, T>, m: riverrun::Ptr<[[f32; 4]; 4]>, by: riverrun::Ptr<[[f32; 4]; 4]>| {
        let (riverrun_data, riverrun_memory) = caller.split();
        T::matrix_multiply(riverrun_data, riverrun_memory, m, by)
    })?;
    linker.func("Matrix::is_identity", |mut caller: riverrun::Caller<'_, T>, m: riverrun::Ptr<[f32; 16]>| {
        let (riverrun_data, riverrun_memory) = caller.split();
        T::matrix_is_identity(riverrun_data, riverrun_memory, m)
    })?;
    linker.func("sum", |caller: riverrun::Caller<'_, T>, values: riverrun::Slice<f32>| {
        T::sum(caller, values)
    })?;
    linker.func("many", |caller: riverrun::Caller<'_, T>, arg0: i32, arg1: i32, arg2: i32, arg3: i32, arg4: i32| {
        T::many(caller, arg0, arg1, arg2, arg3, arg4)
    })?;
    linker.func("stack", |caller: riverrun::Caller<'_, T>, a: u8, b: i16, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64, i: i64, j: i32| {
        T::stack(caller, a, b, c, d, e, f, g, h, i, j)
    })?;
    linker.func("eight", |caller: riverrun::Caller<'_, T>, arg0: i32, arg1: i32, arg2: i32, arg3: i32, arg4: i32, arg5: i32, arg6: i32, arg7: i32| {
        T::eight(caller, arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7)
    })?;
    linker.func("floats", |caller: riverrun::Caller<'_, T>, arg0: f32, arg1: f64, arg2: f32, arg3: f32, arg4: f32, arg5: f32, arg6: f32, arg7: f32, arg8: f32, arg9: Point| {
        T::floats(caller, arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8, arg9)
    })?;
    linker.func("narrow", |caller: riverrun::Caller<'_, T>, arg0: i8, arg1: u8, arg2: i16, arg3: bool, arg4: u8| {
        T::narrow(caller, arg0, arg1, arg2, arg3, arg4)
    })?;
    linker.func("narrowed", |caller: riverrun::Caller<'_, T>, arg0: f64| {
        T::narrowed(caller, arg0)
    })?;
    linker.func("odd {name} 100%|$x", |caller: riverrun::Caller<'_, T>| {
        T::odd(caller)
    })?;
    linker.func("empty", |caller: riverrun::Caller<'_, T>| {
        T::empty(caller)
    })?;
    Ok(())
}

