// Made by `riverrun bindgen` from memory.json: change that instead.

/// The guest's `Item`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::Pod, riverrun::bytemuck::Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
pub struct Item {
    /// `int a`.
    pub a: i32,
    /// `short b`.
    pub b: i16,
    /// Padding.
    pub padding_6: [u8; 2],
    /// `double c`.
    pub c: f64,
}

riverrun::by_value!(Item = [(0, riverrun::Scalar::I32), (4, riverrun::Scalar::I16), (8, riverrun::Scalar::F64)]);

/// Calls that guests can make. The type that it is implemented for is the data of the machines.
pub trait Api: Sized + 'static {
    /// `Memory::sum`: `long sys_sum(const int *values, size_t count)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn sum(caller: riverrun::Caller<'_, Self>, values: riverrun::Slice<i32>) -> Result<i64, riverrun::HostError>;
    /// `Memory::fill`: `void sys_fill(int *values, size_t count, int with)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn fill(caller: riverrun::Caller<'_, Self>, values: riverrun::Slice<i32>, with: i32) -> Result<(), riverrun::HostError>;
    /// `Memory::increment`: `int sys_increment(int *value)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn increment(caller: riverrun::Caller<'_, Self>, value: riverrun::Ptr<i32>) -> Result<i32, riverrun::HostError>;
    /// `Memory::length`: `size_t sys_length(const char *text)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn length(caller: riverrun::Caller<'_, Self>, text: riverrun::Str) -> Result<u64, riverrun::HostError>;
    /// `Memory::item`: `double sys_item(Item *item)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn item(caller: riverrun::Caller<'_, Self>, item: riverrun::Ptr<Item>) -> Result<f64, riverrun::HostError>;
    /// `Memory::watch`: `void sys_watch(int *value)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn watch(caller: riverrun::Caller<'_, Self>, value: riverrun::Ptr<i32>) -> Result<(), riverrun::HostError>;
    /// `Memory::poke`: `void sys_poke(int arg0)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn poke(caller: riverrun::Caller<'_, Self>, arg0: i32) -> Result<(), riverrun::HostError>;
    /// `Memory::peek`: `int sys_peek(void)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn peek(caller: riverrun::Caller<'_, Self>) -> Result<i32, riverrun::HostError>;
    /// `Memory::call`: `void sys_call(callback function, int times)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn call(caller: riverrun::Caller<'_, Self>, function: riverrun::Ptr<()>, times: i32) -> Result<(), riverrun::HostError>;
    /// `Leaf::sum`: `long sys_leaf_sum(const int *values)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn leaf_sum(&mut self, memory: &mut riverrun::Memory, values: riverrun::Ptr<[i32; 8]>) -> Result<i64, riverrun::HostError>;
    /// `Leaf::fill`: `void sys_leaf_fill(int *values, int with)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn leaf_fill(&mut self, memory: &mut riverrun::Memory, values: riverrun::Ptr<[i32; 8]>, with: i32) -> Result<(), riverrun::HostError>;
    /// `Leaf::scale`: `void sys_leaf_scale(int *to, const int *from, int by)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn leaf_scale(&mut self, memory: &mut riverrun::Memory, to: riverrun::Ptr<[i32; 8]>, from: riverrun::Ptr<[i32; 8]>, by: i32) -> Result<(), riverrun::HostError>;
    /// `Leaf::negate`: `void sys_leaf_negate(int *values)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn leaf_negate(&mut self, memory: &mut riverrun::Memory, values: riverrun::Ptr<[i32; 8]>) -> Result<(), riverrun::HostError>;
    /// `Leaf::items`: `double sys_leaf_items(const Item *items, Item *last)`.
    ///
    /// # Errors
    /// What it returns ends the guest's run.
    fn leaf_items(&mut self, memory: &mut riverrun::Memory, items: riverrun::Ptr<[Item; 2]>, last: riverrun::Ptr<[Item; 1]>) -> Result<f64, riverrun::HostError>;
}

/// Registers the calls.
///
/// # Errors
/// If the linker has a function of one of the names already.
pub fn link<T: Api>(linker: &mut riverrun::Linker<T>) -> Result<(), riverrun::Error> {
    linker.func("Memory::sum", |caller: riverrun::Caller<'_, T>, values: riverrun::Slice<i32>| {
        T::sum(caller, values)
    })?;
    linker.func("Memory::fill", |caller: riverrun::Caller<'_, T>, values: riverrun::Slice<i32>, with: i32| {
        T::fill(caller, values, with)
    })?;
    linker.func("Memory::increment", |caller: riverrun::Caller<'_, T>, value: riverrun::Ptr<i32>| {
        T::increment(caller, value)
    })?;
    linker.func("Memory::length", |caller: riverrun::Caller<'_, T>, text: riverrun::Str| {
        T::length(caller, text)
    })?;
    linker.func("Memory::item", |caller: riverrun::Caller<'_, T>, item: riverrun::Ptr<Item>| {
        T::item(caller, item)
    })?;
    linker.func("Memory::watch", |caller: riverrun::Caller<'_, T>, value: riverrun::Ptr<i32>| {
        T::watch(caller, value)
    })?;
    linker.func("Memory::poke", |caller: riverrun::Caller<'_, T>, arg0: i32| {
        T::poke(caller, arg0)
    })?;
    linker.func("Memory::peek", |caller: riverrun::Caller<'_, T>| {
        T::peek(caller)
    })?;
    linker.func("Memory::call", |caller: riverrun::Caller<'_, T>, function: riverrun::Ptr<()>, times: i32| {
        T::call(caller, function, times)
    })?;
    linker.func("Leaf::sum", |mut caller: riverrun::Caller<'_, T>, values: riverrun::Ptr<[i32; 8]>| {
        let (riverrun_data, riverrun_memory) = caller.split();
        T::leaf_sum(riverrun_data, riverrun_memory, values)
    })?;
    linker.func("Leaf::fill", |mut caller: riverrun::Caller<'_, T>, values: riverrun::Ptr<[i32; 8]>, with: i32| {
        let (riverrun_data, riverrun_memory) = caller.split();
        T::leaf_fill(riverrun_data, riverrun_memory, values, with)
    })?;
    linker.func("Leaf::scale", |mut caller: riverrun::Caller<'_, T>, to: riverrun::Ptr<[i32; 8]>, from: riverrun::Ptr<[i32; 8]>, by: i32| {
        let (riverrun_data, riverrun_memory) = caller.split();
        T::leaf_scale(riverrun_data, riverrun_memory, to, from, by)
    })?;
    linker.func("Leaf::negate", |mut caller: riverrun::Caller<'_, T>, values: riverrun::Ptr<[i32; 8]>| {
        let (riverrun_data, riverrun_memory) = caller.split();
        T::leaf_negate(riverrun_data, riverrun_memory, values)
    })?;
    linker.func("Leaf::items", |mut caller: riverrun::Caller<'_, T>, items: riverrun::Ptr<[Item; 2]>, last: riverrun::Ptr<[Item; 1]>| {
        let (riverrun_data, riverrun_memory) = caller.split();
        T::leaf_items(riverrun_data, riverrun_memory, items, last)
    })?;
    Ok(())
}

