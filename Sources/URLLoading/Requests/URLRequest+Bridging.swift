public import Foundation

extension URLRequest: _ObjectiveCBridgeable {
    public typealias _ObjectiveCType = NSURLRequest

    @_semantics("convertToObjectiveC")
    public func _bridgeToObjectiveC() -> NSURLRequest { NSURLRequest(self) }

    public static func _forceBridgeFromObjectiveC(_ source: NSURLRequest, result: inout URLRequest?) {
        result = source.request
    }

    public static func _conditionallyBridgeFromObjectiveC(_ source: NSURLRequest, result: inout URLRequest?) -> Bool {
        result = source.request
        return true
    }

    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSURLRequest?) -> URLRequest {
        source?.request ?? URLRequest(storage: RequestStorage(url: nil))
    }
}

extension URLRequest: ReferenceConvertible {
    /// The class of the same value.
    public typealias ReferenceType = NSURLRequest
}
