import LoadingSemantics
import LoadingStorage
import Testing

/// What waits to be written.
@Suite struct WaitingChangesTests {
    private func text(_ changes: WaitingChanges<Cookie>) -> String {
        changes.list.map { change in
            switch change {
            case .stored(let cookie): "+\(cookie.name)=\(cookie.value)"
            case .removed(let identity): "-\(identity.name)"
            case .everythingRemoved: "*"
            }
        }.joined(separator: " ")
    }

    @Test("of each record the last change waits, in the order of changing") func lastOfEach() {
        var changes = WaitingChanges<Cookie>()
        #expect(changes.isEmpty)
        changes.add([.stored(.lasting("a", "1")), .stored(.lasting("b", "1")), .removed(Cookie.lasting("c").identity)])
        #expect(text(changes) == "+a=1 +b=1 -c")
        changes.add([.stored(.lasting("a", "2")), .stored(.lasting("c", "1")), .removed(Cookie.lasting("b").identity)])
        #expect(text(changes) == "+a=2 +c=1 -b")
    }

    @Test("what was there before all was removed is no more than that") func everythingRemoved() {
        var changes = WaitingChanges<Cookie>()
        changes.add([.stored(.lasting("a")), .everythingRemoved])
        #expect(!changes.isEmpty)
        changes.add([.stored(.lasting("b", "1")), .stored(.lasting("c")), .removed(Cookie.lasting("c").identity)])
        changes.add(.removed(Cookie.lasting("d").identity))
        #expect(text(changes) == "* +b=1")
    }

    // COOK-17: servers may have as many come and go as they like
    @Test("however many come and go, no more than so many removals wait") func comingAndGoing() {
        var changes = WaitingChanges<Cookie>()
        for number in 0..<50_000 {
            let cookie = Cookie.lasting("\(number)")
            changes.add([.stored(cookie), .removed(cookie.identity)])
        }
        changes.add(.stored(.lasting("last")))
        #expect(changes.count == 20_001)
        // Who is stored anew is not one of them.
        for number in 0..<10 { changes.add(.stored(.lasting("\(number)"))) }
        for number in 40_000..<40_020 { changes.add(.removed(Cookie.lasting("\(number)").identity)) }
        #expect(changes.count == 20_011)
    }
}
