/* Bert: a table of modules, a table of their positions, and the tree made from them. */
#include "model/tree/bert.h"

enum { FIELDS = 5 }; /* of the widest module */

enum part_type {
    ARRAY,
    DARRAY, /* an array and its sharding */
    LAYERS,
    LINEAR,
    NORM,
    EMBEDDING,
    DROPOUT,
    ATTENTION_MODULE,
    MASKED_LM,
    MODEL,
    EMBEDDINGS,
    ENCODER,
    LAYER,
    ATTENTION,
    SELF_ATTENTION,
    SELF_OUTPUT,
    INTERMEDIATE,
    OUTPUT,
    MLM_HEAD,
    PREDICTION_HEAD,
    TRANSFORM,
    TYPES
};

static const struct {
    enum pk_node_kind kind;
    const char *name;
    const char *fields[FIELDS + 1]; /* ends with NULL; those of LAYERS are numbers, as many as layers */
} types[TYPES] = {
    [ARRAY] = {PK_NODE_LEAF, "Array"},
    [DARRAY] = {PK_NODE_PARAMETER, "DArray"},
    [LAYERS] = {PK_NODE_SEQUENCE, "tuple"},
    [LINEAR] = {PK_NODE_MODULE, "Linear", {"weight", "bias"}},
    [NORM] = {PK_NODE_MODULE, "LayerNorm", {"weight", "bias"}},
    [EMBEDDING] = {PK_NODE_MODULE, "Embedding", {"weight"}},
    [DROPOUT] = {PK_NODE_MODULE, "Dropout"},
    [ATTENTION_MODULE] = {PK_NODE_MODULE, "AttentionModule"},
    [MASKED_LM] = {PK_NODE_MODULE, "BertForMaskedLM", {"bert", "cls"}},
    [MODEL] = {PK_NODE_MODULE, "BertModel", {"embeddings", "encoder"}},
    [EMBEDDINGS] = {PK_NODE_MODULE,
                    "BertEmbeddings",
                    {"word_embeddings", "position_embeddings", "token_type_embeddings", "LayerNorm",
                     "dropout"}},
    [ENCODER] = {PK_NODE_MODULE, "BertEncoder", {"layer"}},
    [LAYER] = {PK_NODE_MODULE, "BertLayer", {"attention", "intermediate", "output"}},
    [ATTENTION] = {PK_NODE_MODULE, "BertAttention", {"self", "output"}},
    [SELF_ATTENTION] = {PK_NODE_MODULE, "BertSelfAttention", {"query", "value", "key", "sdpa"}},
    [SELF_OUTPUT] = {PK_NODE_MODULE, "BertSelfOutput", {"dense", "LayerNorm", "dropout"}},
    [INTERMEDIATE] = {PK_NODE_MODULE, "BertIntermediate", {"dense"}},
    [OUTPUT] = {PK_NODE_MODULE, "BertOutput", {"dense", "LayerNorm", "dropout"}},
    [MLM_HEAD] = {PK_NODE_MODULE, "BertOnlyMLMHead", {"predictions"}},
    [PREDICTION_HEAD] = {PK_NODE_MODULE, "BertLMPredictionHead", {"transform", "bias"}},
    [TRANSFORM] = {PK_NODE_MODULE, "BertPredictionHeadTransform", {"dense", "LayerNorm"}},
};

enum size { NONE, H, I, V, P, T, SIZES };

/* A position in the model: its type, and its children or its shape. */
struct model_part {
    enum part_type type;
    const struct model_part *child[FIELDS];
    enum size dim[2];          /* of an array */
    enum pk_sharding sharding; /* of a parameter that the reports' plan divides */
};

#define PART(...)                        &(const struct model_part)__VA_ARGS__
#define ARRAY_OF(...)                    PART({.type = ARRAY, .dim = {__VA_ARGS__}})
#define PARAMETER(divided, ...)          PART({.type = DARRAY, .child = {ARRAY_OF(__VA_ARGS__)}, .sharding = divided})
#define MODULE(what, ...)                PART({.type = what, .child = {__VA_ARGS__}})
#define EMPTY(what)                      PART({.type = what})
#define LINEAR_OF(out, in, weight, bias) MODULE(LINEAR, PARAMETER(weight, out, in), PARAMETER(bias, out))
#define WHOLE_LINEAR(out, in)            LINEAR_OF(out, in, PK_WHOLE, PK_WHOLE)
#define COLUMN_LINEAR(out, in)           LINEAR_OF(out, in, PK_SHARD_DIM0, PK_SHARD_DIM0)
#define ROW_LINEAR(out, in)              LINEAR_OF(out, in, PK_SHARD_DIM1, PK_WHOLE)
#define LAYER_NORM                       MODULE(NORM, PARAMETER(PK_WHOLE, H), PARAMETER(PK_WHOLE, H))
#define EMBEDDING_OF(rows)               MODULE(EMBEDDING, PARAMETER(PK_WHOLE, rows, H))

static const struct model_part *const layer = MODULE(
    LAYER,
    MODULE(ATTENTION,
           MODULE(SELF_ATTENTION, COLUMN_LINEAR(H, H), COLUMN_LINEAR(H, H), COLUMN_LINEAR(H, H),
                  EMPTY(ATTENTION_MODULE)),
           MODULE(SELF_OUTPUT, ROW_LINEAR(H, H), LAYER_NORM, EMPTY(DROPOUT))),
    MODULE(INTERMEDIATE, COLUMN_LINEAR(I, H)), MODULE(OUTPUT, ROW_LINEAR(H, I), LAYER_NORM, EMPTY(DROPOUT)));

/* LAYERS is where the layers hang. */
static const struct model_part *const model = MODULE(
    MASKED_LM,
    MODULE(MODEL,
           MODULE(EMBEDDINGS, EMBEDDING_OF(V), EMBEDDING_OF(P), EMBEDDING_OF(T), LAYER_NORM, EMPTY(DROPOUT)),
           MODULE(ENCODER, EMPTY(LAYERS))),
    MODULE(MLM_HEAD,
           MODULE(PREDICTION_HEAD, MODULE(TRANSFORM, WHOLE_LINEAR(H, H), LAYER_NORM), ARRAY_OF(V))));

struct pk_bert_plan {
    uint32_t layers;
    int64_t size[SIZES];
    struct pk_names *names;
    struct pk_node_type type[TYPES];
    size_t n_leaves;
    struct pk_shape *shapes;
};

static void add_shapes(struct pk_bert_plan *p, const struct model_part *part)
{
    if (part->type == ARRAY) {
        struct pk_shape *s = &p->shapes[p->n_leaves++];
        for (; s->rank < 2 && part->dim[s->rank]; s->rank++)
            s->dim[s->rank] = p->size[part->dim[s->rank]];
    }
    for (uint32_t i = 0; part->type == LAYERS && i < p->layers; i++)
        add_shapes(p, layer);
    for (uint32_t i = 0; i < FIELDS && part->child[i]; i++)
        add_shapes(p, part->child[i]);
}

size_t pk_bert_bytes(const struct pk_bert_plan *p)
{
    const size_t nodes = 49 * (size_t)p->layers + 34;
    return nodes * sizeof(struct pk_node) + (nodes - 1) * sizeof(struct pk_node *);
}

struct pk_bert_plan *pk_bert_prepare(const struct pk_bert *config, struct pk_arena *a)
{
    pk_assert(config->layers >= 1 && config->layers <= UINT32_MAX / 64 && config->hidden >= 1 &&
              config->intermediate >= 1 && config->vocab >= 1 && config->positions >= 1 &&
              config->token_types >= 1);
    struct pk_bert_plan *p = pk_new(a, struct pk_bert_plan);
    *p = (struct pk_bert_plan){
        .layers = (uint32_t)config->layers,
        .size = {[H] = config->hidden,
                 [I] = config->intermediate,
                 [V] = config->vocab,
                 [P] = config->positions,
                 [T] = config->token_types},
        .names = pk_names_new(a),
        .shapes = pk_new_n(a, struct pk_shape, 16 * (size_t)config->layers + 10),
    };
    for (enum part_type type = 0; type < TYPES; type++) {
        uint32_t n = 0;
        if (type == LAYERS)
            n = p->layers;
        else
            while (types[type].fields[n])
                n++;
        bool leads_on = types[type].kind == PK_NODE_MODULE || types[type].kind == PK_NODE_SEQUENCE;
        uint32_t *fields = leads_on ? pk_new_n(a, uint32_t, n) : NULL;
        for (uint32_t i = 0; i < n; i++)
            fields[i] = pk_name(p->names, type == LAYERS ? pk_printf(a, "%u", i) : types[type].fields[i]);
        p->type[type] = (struct pk_node_type){types[type].kind, types[type].name, n, fields};
    }
    add_shapes(p, model);
    return p;
}

struct tree_builder {
    const struct pk_bert_plan *plan;
    bool sharded;
    struct pk_bump *bump;
    uint32_t leaves; /* made so far */
};

static const struct pk_node *make(struct tree_builder *m, const struct model_part *part)
{
    const struct pk_node_type *type = &m->plan->type[part->type];
    uint32_t arity = type->kind == PK_NODE_PARAMETER ? 1 : type->n_fields;
    uint32_t value = type->kind == PK_NODE_LEAF ? m->leaves++ : m->sharded ? part->sharding : PK_WHOLE;
    struct pk_node *n = pk_node_new(m->bump, type, arity, value);
    for (uint32_t i = 0; i < arity; i++)
        n->child[i] = make(m, part->type == LAYERS ? layer : part->child[i]);
    return n;
}

void pk_bert_make(const struct pk_bert_plan *p, bool sharded, struct pk_bump *b, struct pk_tree *out)
{
    struct tree_builder m = {p, sharded, b, 0};
    *out = (struct pk_tree){make(&m, model), p->names, p->n_leaves, p->shapes};
}
