import Foundation

// What a macro's library does, in its least form: messages of the compiler are JSON, each after its length.

let input = FileHandle.standardInput
let output = FileHandle.standardOutput

func message() throws -> [String: Any]? {
    guard let head = try input.read(upToCount: 8), head.count == 8 else { return nil }
    let length = head.reversed().reduce(0) { $0 << 8 | Int($1) }
    guard let body = try input.read(upToCount: length) else { return nil }
    return try JSONSerialization.jsonObject(with: body) as? [String: Any]
}

func answer(_ message: [String: Any]) throws {
    let body = try JSONSerialization.data(withJSONObject: message)
    output.write(Data((0..<8).map { UInt8(truncatingIfNeeded: body.count >> ($0 * 8)) }) + body)
}

while let message = try message() {
    if message["getCapability"] != nil {
        try answer(["getCapabilityResult": ["capability": ["protocolVersion": 7]]])
    } else if message["expandFreestandingMacro"] != nil {
        try answer(["expandMacroResult": ["expandedSource": "42", "diagnostics": [Any]()]])
    }
}
