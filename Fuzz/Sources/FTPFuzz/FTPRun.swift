import LoadingProtocols

/// What a conversation does when a server says these bytes, in pieces of this length. The data connection is made at
/// once.
struct FTPRun {
    private(set) var actions: [FTPConversation.Action] = []

    init(_ bytes: UnsafeRawBufferPointer, choice: UInt8, pieceLength: Int) {
        var limits = FTPLimits()
        if choice & 8 != 0 {
            limits.maximumLineLength = 24
            limits.maximumLineCount = 3
            limits.maximumPreliminaryCount = 2
        }
        let forms: [FTPRequest.Form] = [.file, .text, .listing, .names]
        var request = FTPRequest(
            directories: choice & 4 == 0 ? [] : [[0x64]], name: choice & 32 == 0 ? [0x66] : [0x66, 13, 10],
            form: forms[Int(choice & 3)])
        if choice & 16 != 0 {
            request.wantsModificationTime = true
            request.beginning = FTPRequest.Beginning(count: 3, size: 5, modificationTime: "20260102030405")
        }
        var conversation = FTPConversation(request, as: .anonymous, limits: limits)
        var parser = FTPReplyParser(limits: limits)
        do throws(FTPFailure) {
            for start in stride(from: 0, to: bytes.count, by: pieceLength) {
                var input = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + pieceLength, bytes.count)])
                while let reply = try parser.next(&input) {
                    actions += conversation.received(reply)
                    if case .connect? = actions.last { actions += conversation.connected() }
                    if case .begin? = actions.last { actions += conversation.dataEnded(after: 5) }
                }
            }
        } catch {
            return
        }
        actions += conversation.connectionEnded()
    }
}
