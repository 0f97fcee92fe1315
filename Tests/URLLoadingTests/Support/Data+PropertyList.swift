import Foundation

extension Data {
    /// A property list in XML of arrays within arrays.
    static func propertyList(levels: Int) -> Data {
        let list = String(repeating: "<array>", count: levels) + String(repeating: "</array>", count: levels)
        return Data("<?xml version=\"1.0\"?><plist version=\"1.0\">\(list)</plist>".utf8)
    }
}
