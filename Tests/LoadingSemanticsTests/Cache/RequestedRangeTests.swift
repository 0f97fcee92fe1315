import LoadingSemantics
import Testing

@Suite struct RequestedRangeTests {
    // CACHE-20: RFC 9110 §14.1.1, §14.1.2
    @Test(
        arguments: [
            ("bytes=0-0", .from(0, through: 0)), ("bytes=500-999", .from(500, through: 999)),
            ("bytes=500-", .from(500, through: nil)), ("Bytes=-500", .last(500)), ("bytes=-0", .last(0)),
            ("bytes=0-9223372036854775807", .from(0, through: .max)), ("bytes=0-9223372036854775808", nil),
            ("bytes=0-0,2-3", nil), ("bytes=0-0,", nil), ("bytes=2-1", nil), ("bytes=-", nil), ("bytes=--1", nil),
            ("bytes=1-2-3", nil), ("bytes= 0-1", nil), ("bytes=0 -1", nil), ("bytes=a-b", nil), ("bytes=0", nil),
            ("bytes", nil), ("bytes=", nil), ("bytes==0-1", nil), ("items=0-1", nil), ("", nil),
        ] as [(String, RequestedRange?)])
    func values(text: String, range: RequestedRange?) { #expect(RequestedRange(text) == range) }

    // CACHE-20: RFC 9110 §14.1.2
    @Test(
        arguments: [
            (.from(0, through: 0), 1, 0...0), (.from(0, through: nil), 10, 0...9), (.from(9, through: nil), 10, 9...9),
            (.from(2, through: 4), 10, 2...4), (.from(2, through: .max), 10, 2...9), (.from(10, through: 20), 10, nil),
            (.from(0, through: nil), 0, nil), (.from(.max, through: nil), .max, nil), (.last(3), 10, 7...9),
            (.last(10), 10, 0...9), (.last(.max), 10, 0...9), (.last(0), 10, nil), (.last(1), 0, nil),
        ] as [(RequestedRange, Int64, ClosedRange<Int64>?)])
    func bytes(range: RequestedRange, length: Int64, bytes: ClosedRange<Int64>?) {
        #expect(range.bytes(of: length) == bytes)
    }
}
