-- State of every kind, which a stop at any instruction must not change.
local generators = {}
for number = 1, 20 do
    generators[number] = coroutine.wrap(function()
        local a, b = number, 1
        while true do
            coroutine.yield(a)
            a, b = b, (a * 31 + b) % 1000003
        end
    end)
end
local words = setmetatable({}, { __index = function(_, key) return #key end })
local text, sum = {}, 0.5
for round = 1, 3000 do
    local value = generators[round % 20 + 1]()
    sum = sum * 0.99 + value / 7
    words[tostring(value)] = (words[tostring(value)] or 0) + 1
    local ok, message = pcall(function()
        if value % 5 == 0 then error({ code = value }) end
        return ("x"):rep(value % 17) .. value
    end)
    text[#text + 1] = ok and message or "error " .. message.code
    if round % 500 == 0 then
        text = { table.concat(text):sub(-100) }
        collectgarbage()
        print(round, ("%.12g"):format(sum), text[1]:gsub("%d", "#"))
    end
end
local keys = {}
for key in pairs(words) do keys[#keys + 1] = key end
table.sort(keys)
print(#keys, keys[1], keys[#keys], os.time(), os.clock())
