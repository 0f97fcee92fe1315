/// Finds the bounds of frames in input of any segmentation.
struct HTTP2FrameScanner {
    /// The octets of an incomplete frame head.
    private var partial = (0 as UInt64, 0 as UInt64)
    private var partialCount = 0
    private var payloadLeft = 0

    /// How many octets of `input`, which has some, belong to the frame in work, and its head if it becomes whole with
    /// them.
    mutating func step(_ input: UnsafeRawBufferPointer) -> (count: Int, head: HTTP2FrameHead?) {
        if payloadLeft > 0 {
            let count = min(payloadLeft, input.count)
            payloadLeft &-= count
            return (count, nil)
        }
        let missing = HTTP2FrameHead.length &- partialCount
        let head: HTTP2FrameHead
        if partialCount == 0, input.count >= HTTP2FrameHead.length {
            head = HTTP2FrameHead(input)
        } else {
            let taken = min(missing, input.count)
            let whole = withUnsafeMutableBytes(of: &partial) { room -> HTTP2FrameHead? in
                for index in 0..<taken { room[partialCount &+ index] = input[index] }
                return taken == missing ? HTTP2FrameHead(UnsafeRawBufferPointer(room)) : nil
            }
            guard let whole else {
                partialCount &+= taken
                return (taken, nil)
            }
            head = whole
        }
        partialCount = 0
        let count = min(head.payloadLength, input.count &- missing)
        payloadLeft = head.payloadLength &- count
        return (missing &+ count, head)
    }
}
