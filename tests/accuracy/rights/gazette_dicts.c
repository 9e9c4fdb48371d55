/* summary: one libxml2 dictionary of names for parsers, documents and sub-dictionaries: references taken and put inside of the library,
 *          a dictionary exchanged in a parser, one lifted out of a document, an early put by the one that made it
 * track: own
 * build: clang -O2 -g gazette_dicts.c -o OUT $(pkg-config --cflags --libs libxml-2.0)
 */
#include <libxml/xmlstring.h>
#include <libxml/dict.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ISSUES 6

static const char *const issues[ISSUES] = {
    "<gazette no='1'><notice kind='probate'><name>Harker</name></notice><notice kind='road'/></gazette>",
    "<gazette no='2'><notice kind='road'><place>Elm Row</place></notice></gazette>",
    "<gazette no='3'><notice kind='probate'><name>Voss</name></notice><errata/></gazette>",
    "<gazette no='4'><notice kind='road'><unclosed></notice></gazette>",
    "<gazette no='5'><errata/><errata/><notice kind='licence'/></gazette>",
    "<gazette no='6'><notice kind='licence'><name>Amis</name><name>Orton</name></notice></gazette>",
};

/* The archive: documents, and the dictionary that all their names are from. */
struct archive {
    xmlDictPtr names;
    xmlDocPtr doc[ISSUES];
    int docs, bad;
};

/* Names of interest, interned: compared by address. */
struct query {
    xmlDictPtr names;               /* a sub-dictionary: it looks into the archive's, but adds to itself */
    const xmlChar *element;
    const xmlChar *extra;
};

static void quiet(void *context, const char *format, ...)
{
    (void)context;
    (void)format;
}

/* A parser that uses the dictionary instead of the one it has been made with. */
static xmlParserCtxtPtr parser_new(xmlDictPtr names)
{
    xmlParserCtxtPtr parser = xmlNewParserCtxt();
    if (!parser)
        abort();
    xmlDictFree(parser->dict);
    parser->dict = names;
    xmlDictReference(names);
    return parser;
}

static xmlDocPtr issue_parse(xmlDictPtr names, const char *text)
{
    xmlParserCtxtPtr parser = parser_new(names);
    xmlDocPtr doc = xmlCtxtReadMemory(parser, text, (int)strlen(text), "issue", NULL, XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    xmlFreeParserCtxt(parser);      /* puts the parser's reference; the document has its own */
    return doc;
}

static void archive_fill(struct archive *a)
{
    for (int i = 0; i < ISSUES; i++) {
        xmlDocPtr doc = issue_parse(a->names, issues[i]);
        if (doc)
            a->doc[a->docs++] = doc;
        else
            a->bad++;
    }
}

static struct query *query_new(struct archive *a, const char *element)
{
    struct query *q = malloc(sizeof *q);
    if (!q)
        abort();
    q->names = xmlDictCreateSub(a->names);
    q->element = xmlDictLookup(q->names, BAD_CAST element, -1);
    q->extra = xmlDictLookup(q->names, BAD_CAST "not in any issue", -1);
    return q;
}

static void query_free(struct query *q)
{
    xmlDictFree(q->names);          /* and with it the reference to the archive's dictionary */
    free(q);
}

static int count_nodes(const struct query *q, const xmlNode *node)
{
    int n = 0;
    for (; node; node = node->next) {
        if (node->type != XML_ELEMENT_NODE)
            continue;
        n += node->name == q->element;
        n += count_nodes(q, node->children);
    }
    return n;
}

static int archive_count(struct archive *a, const struct query *q)
{
    int n = 0;
    for (int i = 0; i < a->docs; i++)
        n += count_nodes(q, xmlDocGetRootElement(a->doc[i]));
    return n;
}

/* Cuts a notice out into a document of its own, which takes part in the dictionary. */
static xmlDocPtr notice_cut(xmlDocPtr from)
{
    xmlDocPtr cut = xmlNewDoc(BAD_CAST "1.0");
    xmlNodePtr notice = xmlDocGetRootElement(from)->children;
    cut->dict = from->dict;
    if (cut->dict)
        xmlDictReference(cut->dict);
    xmlUnlinkNode(notice);
    xmlDocSetRootElement(cut, notice);
    return cut;
}

/* Ends a document but keeps its dictionary: the document's reference becomes the caller's. */
static xmlDictPtr doc_lift_names(xmlDocPtr doc)
{
    xmlDictPtr names = doc->dict;
    xmlNodePtr root = xmlDocGetRootElement(doc);
    xmlUnlinkNode(root);            /* the nodes' names are the dictionary's: they have to go while the document knows it */
    xmlFreeNode(root);
    doc->dict = NULL;
    xmlFreeDoc(doc);
    return names;
}

/* An issue from elsewhere, with a dictionary that only its document has. */
static int foreign_issue(const char *text)
{
    xmlDocPtr doc = xmlReadMemory(text, (int)strlen(text), "foreign", NULL, XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    if (!doc)
        return 0;
    const xmlChar *name = xmlDocGetRootElement(doc)->name;
    xmlDictPtr names = doc_lift_names(doc);
    int known = name == xmlDictExists(names, BAD_CAST "gazette", -1) && xmlDictOwns(names, name);
    xmlDictFree(names);
    return known;
}

/* Parses many small texts with one parser: each reset leaves the dictionary, each document takes part in it. */
static int serial_issues(xmlDictPtr names)
{
    xmlParserCtxtPtr parser = parser_new(names);
    int elements = 0;
    for (int i = 0; i < ISSUES; i++) {
        xmlDocPtr doc = xmlCtxtReadMemory(parser, issues[i], (int)strlen(issues[i]), "serial", NULL,
                                          XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
        if (!doc)
            continue;
        elements += xmlDocGetRootElement(doc)->children != NULL;
        xmlFreeDoc(doc);
    }
    xmlFreeParserCtxt(parser);
    return elements;
}

int main(void)
{
    struct archive archive = { 0 };
    int failed = 0;

    xmlInitParser();
    xmlSetGenericErrorFunc(NULL, quiet);

    archive.names = xmlDictCreate();
    archive_fill(&archive);
    failed |= archive.docs != 5 || archive.bad != 1;
    failed |= serial_issues(archive.names) != 5;

    struct query *errata = query_new(&archive, "errata");
    struct query *notices = query_new(&archive, "notice");
    failed |= archive_count(&archive, errata) != 3 || archive_count(&archive, notices) != 6;

    xmlDocPtr cut = notice_cut(archive.doc[0]);
    failed |= archive_count(&archive, notices) != 5 || count_nodes(notices, xmlDocGetRootElement(cut)) != 1;

    /* We need no more names: from here on the documents and queries have the dictionary among them. */
    xmlDictFree(archive.names);
    query_free(errata);
    for (int i = 0; i < archive.docs - 1; i++)
        xmlFreeDoc(archive.doc[i]);
    failed |= count_nodes(notices, xmlDocGetRootElement(cut)) != 1;

    /* The last document of the archive gives its reference to us, and we to the next document. */
    xmlDictPtr lifted = doc_lift_names(archive.doc[archive.docs - 1]);
    xmlDocPtr late = issue_parse(lifted, issues[4]);
    xmlDictFree(lifted);
    failed |= count_nodes(notices, xmlDocGetRootElement(late)) != 1;
    xmlFreeDoc(late);
    xmlFreeDoc(cut);
    query_free(notices);            /* the sub-dictionary had the last reference */

    for (int i = 0; i < ISSUES; i++)
        failed |= foreign_issue(issues[i]) != (i != 3);
    xmlCleanupParser();
    puts(failed ? "names do not agree" : "archive closed");
    return failed;
}
